"""Reports as text and pictures: data in, text or bytes out. Nothing here prints, exits or looks at the terminal."""
