package main

import "github.com/schollz/progressbar/v3"

// bar returns a progress bar on stderr over so many, -1 if that is not known
// yet. It draws when it is moved: drawing by itself, at an interval, the library
// reads its state while the mover writes it.
func (a *app) bar(total int64, doing string) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total, progressbar.OptionSetWriter(a.stderr), progressbar.OptionSetDescription(doing),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(), progressbar.OptionSetSpinnerChangeInterval(0))
}
