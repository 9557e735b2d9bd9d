# Completion of pcatool for PowerShell, made from the program's own table of options; it needs no Python.
# Put this line into your profile (its place is in $PROFILE):
#   pcatool completion powershell | Out-String | Invoke-Expression
# Where nothing fits, PowerShell itself goes on to offer files.

Register-ArgumentCompleter -Native -CommandName 'pcatool', 'pcatool.exe' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commands = @(
@COMMANDS@
    )

    # What a subcommand takes. An option is its names, = when it has a value, and what that can be: words; some of
    # them, after a +; files, after @; nothing that could be told. A * before it: it can be given again.
    $takes = @{
@TABLE@
    }

    function Reply($text, $type, $about) {
        $shown = if ($text -match '[\s''"`(){}@,;&|<>$#]') { "'" + $text.Replace("'", "''") + "'" } else { $text }
        [System.Management.Automation.CompletionResult]::new($shown, $text, $type, $about)
    }

    function Reply-Words($words, $before, $typed) {
        foreach ($word in $words) {
            if ($word.StartsWith($typed)) { Reply ($before + $word) 'ParameterValue' $word }
        }
    }

    function Reply-Listed($words, $before, $typed) {
        $given = $typed.Substring(0, $typed.LastIndexOf(',') + 1)
        $left = $words | Where-Object { $given.Split(',') -cnotcontains $_ }
        Reply-Words @($left | ForEach-Object { $given + $_ }) $before $typed
    }

    # Folders, and the files of the kinds wanted.
    function Reply-Files($kinds, $before, $typed) {
        $endings = @()
        if ($kinds.Contains('@any')) { $endings += '.*' }
        if ($kinds.Contains('@model')) { $endings += '.*@MODEL@' }
        if ($kinds.Contains('@data')) { $endings += '.*(@TABLES@)(@PACKED@)?' }
        $cut = $typed.LastIndexOfAny('/\'.ToCharArray()) + 1
        $folder = $typed.Substring(0, $cut)
        $start = $typed.Substring($cut)
        $where = if ($folder) { $folder -replace '^~', $HOME } else { '.' }
        foreach ($item in Get-ChildItem -LiteralPath $where -ErrorAction Ignore) {
            if (-not $item.Name.StartsWith($start, [System.StringComparison]::OrdinalIgnoreCase)) { continue }
            $text = $before + $folder + $item.Name
            if ($item.PSIsContainer) { Reply ($text + '/') 'ProviderContainer' $item.Name }
            elseif ($item.Name -match "^($($endings -join '|'))$") { Reply $text 'ProviderItem' $item.Name }
        }
    }

    function Reply-Value($wanted, $before, $typed) {
        if (-not $wanted) { return }
        if ($wanted.StartsWith('@')) { Reply-Files $wanted $before $typed }
        elseif ($wanted.StartsWith('+')) { Reply-Listed ($wanted.Substring(1).Split(' ')) $before $typed }
        else { Reply-Words ($wanted.Split(' ')) $before $typed }
    }

    function Get-Names($option) { $option.Word.Split('=')[0].TrimStart('*').Split('|') }

    function Get-Value($option) { $option.Word.Substring($option.Word.IndexOf('=') + 1) }

    function Test-Value($option) { $option -and $option.Word.Contains('=') }

    function Find-Option($name) {
        foreach ($option in $options) { if ((Get-Names $option) -ccontains $name) { return $option } }
    }

    $typed = $wordToComplete -replace '^[''"]', '' -replace '[''"]$', ''
    $before = @($commandAst.CommandElements | Select-Object -Skip 1 |
            Where-Object { $_.Extent.EndOffset -lt $cursorPosition -or ($_.Extent.EndOffset -eq $cursorPosition -and -not $wordToComplete) } |
            ForEach-Object { if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { $_.Extent.Text } })

    $options = $takes[''].Options
    $places = $takes[''].Arguments
    $given = @()
    $pending = $null
    $command = ''
    $ended = $false
    $place = 0
    foreach ($word in $before) {
        if ($pending) { $pending = $null }
        elseif (-not $ended -and $word -ceq '--') { $ended = $true }
        elseif (-not $ended -and $word.StartsWith('--')) {
            $option = Find-Option ($word.Split('=')[0])
            if ($option) { $given += $option.Word }
            if ((Test-Value $option) -and -not $word.Contains('=')) { $pending = $option }
        }
        elseif (-not $ended -and $word.Length -gt 1 -and $word.StartsWith('-')) {
            for ($i = 1; $i -lt $word.Length; $i++) {
                $option = Find-Option ('-' + $word[$i])
                if (-not $option) { break }
                $given += $option.Word
                if (Test-Value $option) {
                    if ($i -eq $word.Length - 1) { $pending = $option }
                    break
                }
            }
        }
        elseif (-not $command) {
            $command = $word
            $given = @()
            $options = @()
            $places = @()
            if ($takes.ContainsKey($command)) {
                $options = $takes[$command].Options
                $places = $takes[$command].Arguments
            }
        }
        else { $place++ }
    }

    if ($pending) { Reply-Value (Get-Value $pending) '' $typed }
    elseif (-not $ended -and $typed.StartsWith('--') -and $typed.Contains('=')) {
        $name, $value = $typed.Split('=', 2)
        $option = Find-Option $name
        if (Test-Value $option) { Reply-Value (Get-Value $option) ($name + '=') $value }
    }
    elseif (-not $ended -and $typed.StartsWith('-')) {
        foreach ($option in $options) {
            if (-not $option.Word.StartsWith('*') -and $given -ccontains $option.Word) { continue }
            foreach ($name in Get-Names $option) {
                if ($name.StartsWith($typed, [System.StringComparison]::Ordinal)) { Reply $name 'ParameterName' $option.About }
            }
        }
    }
    elseif (-not $command) {
        foreach ($entry in $commands) {
            if ($entry.Word.StartsWith($typed)) { Reply $entry.Word 'ParameterValue' $entry.About }
        }
    }
    elseif ($places.Count) {
        $last = $places[$places.Count - 1]
        if ($place -lt $places.Count) { Reply-Value ($places[$place].TrimStart('*')) '' $typed }
        elseif ($last.StartsWith('*')) { Reply-Value ($last.TrimStart('*')) '' $typed }
    }
}
