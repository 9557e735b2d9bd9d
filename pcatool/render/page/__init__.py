"""One page of HTML that needs nothing but itself: what it says is written here, what moves is in the files beside."""
