package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// turn is one message of a file, and where it goes.
type turn struct {
	where        string // its place in the file, for errors
	user         string
	conversation string
	session      string
	message      meminfra.Message
}

// turns walks a file from its beginning; it can be walked again. It ends with
// the first turn that cannot be read.
type turns = iter.Seq2[turn, error]

type importFlags struct {
	user          string
	userName      string
	agent         string
	team          string
	public        bool
	format        string
	conversations []string
	batch         int
	asNew         bool
	json          bool
}

func (a *app) importCommand() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import [--user U] [flags] FILE",
		Short: "Remember the messages of a file",
		Long: `Adds the messages of FILE (- is standard input). The whole file is checked before
the first message is stored; importing it again adds nothing.

--format jsonl (the default): one JSON object a line with
  conversation_id  required
  content          required
  id               the message's id; made from the line and its number if missing
  role             user (default), assistant, system, tool or document
  name             who speaks
  sent_at          RFC 3339
  session_id, source (of a tool or document), metadata (an object)
Another field is an error. Blank lines are skipped.

--format locomo: the conversations of the LoCoMo data set. sample_id is the
conversation (and the user, without --user), dia_id the message id, session_N
the session, its date, read as UTC, sent_at. Both speakers are named. A picture's
caption follows the text as [image: caption].

--format export: what export wrote. The user's memory must be empty, or a
beginning of the export, of which the rest is then added. Every line is checked,
and nothing is written if one is not as it was. Vectors are made by reembed.
With --as-new its messages are added to whatever is there, also to another
user's memory, and read anew; what their owner withdrew is withdrawn again, what
else was done by hand stays behind. Adding them again adds nothing.`,
		Example: `  meminfra import --user ada chats.jsonl
  meminfra import --format locomo --conversation conv-30 locomo10.json`,
		Args: one("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.importFile(cmd.Context(), f, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.user, "user", "", "whose memory (required for jsonl)")
	flags.StringVar(&f.userName, "user-name", "", "what the user is called, where messages carry names")
	flags.StringVar(&f.agent, "agent", "", "the agent through which it came")
	flags.StringVar(&f.team, "team", "", "remember it for this team, whose member the user is")
	flags.BoolVar(&f.public, "public", false, "remember it for everybody")
	flags.StringVar(&f.format, "format", "jsonl", "jsonl, locomo or export")
	flags.StringArrayVar(&f.conversations, "conversation", nil, "import this `conversation` only, repeatable")
	flags.IntVar(&f.batch, "batch", 500, "messages stored at a time, 1 to 1000")
	flags.BoolVar(&f.asNew, "as-new", false, "add the messages of an export to what is there (--format export)")
	flags.BoolVar(&f.json, "json", false, "print the summary as JSON")
	return cmd
}

func (a *app) importFile(ctx context.Context, f importFlags, name string) error {
	if f.batch < 1 || f.batch > memory.MaxMessages {
		return usage(fmt.Sprintf("--batch: want 1 to %d", memory.MaxMessages), "")
	}
	if f.user != "" {
		if err := memory.CheckID("--user", f.user); err != nil {
			return err
		}
	}
	file, done, err := a.openInput(name)
	if err != nil {
		return err
	}
	defer done()
	if f.asNew && f.format != "export" {
		return usage("--as-new: only with --format export", "")
	}
	if f.format == "export" {
		if f.agent != "" || f.team != "" || f.public {
			return usage("--agent, --team and --public: an export says itself whose it is", "")
		}
		return a.importExport(ctx, f, file)
	}
	all, err := f.reader(file)
	if err != nil {
		return err
	}
	plan, err := f.check(all)
	if err != nil {
		return err
	}
	return a.withMemory(ctx, true, func(ml *meminfra.MemoryLayer) error {
		im := &importer{app: a, ml: ml, flags: f, plan: plan, sum: newImportDoc(plan)}
		if a.progress {
			im.bar = a.bar(int64(plan.messages), "importing")
		}
		err := im.run(ctx, all)
		if im.bar != nil {
			_ = im.bar.Clear()
		}
		if err != nil {
			return err
		}
		return a.printImported(im.sum, f.json)
	})
}

// reader returns the turns of the file in its format.
func (f importFlags) reader(file *os.File) (turns, error) {
	switch f.format {
	case "jsonl":
		if memory.IsBlank(f.user) {
			return nil, meminfra.ErrNoUser
		}
		return jsonLines(file, f.user), nil
	case "locomo":
		return locomo(file, f.user)
	}
	return nil, usage("--format: want jsonl, locomo or export", "")
}

// openInput opens a file that can be read twice. What cannot (standard input, a
// pipe) is copied to a temporary file of the user's first.
func (a *app) openInput(name string) (file *os.File, done func(), err error) {
	stream := a.stdin
	if name != "-" {
		if file, err = os.Open(name); err != nil {
			return nil, nil, err
		}
		info, err := file.Stat()
		switch {
		case err != nil:
			return nil, nil, errors.Join(err, file.Close())
		case info.IsDir():
			return nil, nil, errors.Join(usage("that is a folder: name a file", ""), file.Close())
		case info.Mode().IsRegular():
			return file, func() { _ = file.Close() }, nil
		}
		stream = file
		defer file.Close()
	}
	spool, err := os.CreateTemp("", "meminfra-import-*")
	if err != nil {
		return nil, nil, err
	}
	remove := func() { _, _ = spool.Close(), os.Remove(spool.Name()) }
	if _, err := io.Copy(spool, stream); err != nil {
		remove()
		return nil, nil, fmt.Errorf("read the input: %w", err)
	}
	return spool, remove, nil
}

// importer stores turns in batches: one Add for each run of messages of one
// conversation and session.
type importer struct {
	app     *app
	ml      *meminfra.MemoryLayer
	flags   importFlags
	plan    importPlan
	bar     *progressbar.ProgressBar
	pending []turn
	sum     importDoc
}

func (im *importer) run(ctx context.Context, all turns) error {
	for t, err := range all {
		if err != nil {
			return err // the file changed since it was checked
		}
		if !im.flags.wants(t) {
			continue
		}
		if im.plan.repeats(t) {
			im.sum.Known++
			im.tick(1)
			continue
		}
		if n := len(im.pending); n > 0 && (n == im.flags.batch || !im.pending[0].together(t)) {
			if err := im.flush(ctx); err != nil {
				return err
			}
		}
		im.pending = append(im.pending, t)
	}
	return im.flush(ctx)
}

// together reports whether two turns may be stored by one Add.
func (t turn) together(u turn) bool {
	return t.user == u.user && t.conversation == u.conversation && t.session == u.session
}

func (im *importer) flush(ctx context.Context) error {
	if len(im.pending) == 0 {
		return nil
	}
	head, last := im.pending[0], im.pending[len(im.pending)-1]
	req := meminfra.AddRequest{UserID: head.user, UserName: im.flags.userName,
		AgentID: im.flags.agent, TeamID: im.flags.team, Public: im.flags.public,
		ConversationID: head.conversation, SessionID: head.session}
	for _, t := range im.pending {
		req.Messages = append(req.Messages, t.message)
	}
	res, err := im.ml.Add(ctx, req)
	im.sum.count(res)
	if err != nil {
		where := head.where
		if last.where != head.where {
			where += " to " + last.where
		}
		return &hinted{fmt.Errorf("%s: %w (%s stored before)", where, err, count(im.sum.Stored, "message")),
			"the same import again once that is settled: what is stored is not added twice"}
	}
	im.app.warn(res.Degraded)
	im.tick(len(im.pending))
	im.pending = im.pending[:0]
	return nil
}

func (im *importer) tick(n int) {
	if im.bar != nil {
		_ = im.bar.Add(n)
	}
}

// importDoc is the document of import.
type importDoc struct {
	Messages      int                   `json:"messages"`
	Stored        int                   `json:"stored"`
	Known         int                   `json:"known"`
	Conversations int                   `json:"conversations"`
	Sessions      int                   `json:"sessions"` // those that the file names
	Actions       map[memory.Action]int `json:"actions"`
	Rejections    int                   `json:"rejections"`
	Usage         []llm.Line            `json:"usage"`
}

var allActions = []memory.Action{memory.ActionAdd, memory.ActionNoop, memory.ActionSupersede, memory.ActionRetract}

func newImportDoc(plan importPlan) importDoc {
	doc := importDoc{Messages: plan.messages, Conversations: plan.conversations, Sessions: plan.sessions,
		Actions: map[memory.Action]int{}}
	for _, action := range allActions {
		doc.Actions[action] = 0
	}
	return doc
}

func (d *importDoc) count(res *meminfra.AddResult) {
	if res == nil {
		return
	}
	for _, e := range res.Episodes {
		if e.Known {
			d.Known++
		} else {
			d.Stored++
		}
	}
	for _, action := range res.Actions {
		d.Actions[action.Action]++
	}
	d.Rejections += len(res.Rejections)
}

func (a *app) printImported(d importDoc, asJSON bool) error {
	if asJSON {
		d.Usage = a.tally.Lines()
		return a.printJSON(d)
	}
	read := count(d.Messages, "message") + " in " + count(d.Conversations, "conversation")
	if d.Sessions > 0 {
		read += ", " + count(d.Sessions, "session")
	}
	var decisions []string
	for _, action := range allActions {
		decisions = append(decisions, fmt.Sprintf("%d %s", d.Actions[action], action))
	}
	if d.Rejections > 0 {
		decisions = append(decisions, fmt.Sprintf("%d rejected", d.Rejections))
	}
	fields(a.stdout,
		[2]string{"read", read},
		[2]string{"stored", fmt.Sprintf("%d new, %d known already", d.Stored, d.Known)},
		[2]string{"decisions", strings.Join(decisions, ", ")})
	return nil
}

func (f importFlags) wants(t turn) bool {
	return len(f.conversations) == 0 || slices.Contains(f.conversations, t.conversation)
}
