// Command meminfra adds conversations to a memory, searches it and looks after
// its database. `meminfra demo` shows what it does.
//
// Exit codes: 0 done, 1 failure, 2 usage. Results go to standard output,
// errors to standard error; neither passwords nor memory text is ever in an
// error.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the process at once
	code := processApp().run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
