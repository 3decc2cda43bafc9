package main

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// importPlan is what the check of a whole file found: how much there is, and
// where each message id is first used.
type importPlan struct {
	messages, conversations, sessions int
	first                             map[[sha256.Size]byte]firstUse
}

type firstUse struct {
	where string
	said  [sha256.Size]byte // role and content
}

// check walks the whole file before anything is stored, so that a file that
// cannot be read leaves nothing behind.
func (f importFlags) check(all turns) (importPlan, error) {
	plan := importPlan{first: map[[sha256.Size]byte]firstUse{}}
	conversations, sessions := map[string]bool{}, map[string]bool{}
	for t, err := range all {
		if err == nil {
			err = t.check()
		}
		if err == nil && f.wants(t) {
			err = plan.note(t)
		}
		if err != nil {
			return importPlan{}, badTurn(t.where, err)
		}
		if !f.wants(t) {
			continue
		}
		plan.messages++
		conversations[t.conversation] = true
		if t.session != "" {
			sessions[t.conversation+"\x00"+t.session] = true
		}
	}
	for _, wanted := range f.conversations {
		if !conversations[wanted] {
			return importPlan{}, usage(fmt.Sprintf("the file has no conversation %q", wanted), "")
		}
	}
	plan.conversations, plan.sessions = len(conversations), len(sessions)
	return plan, nil
}

// note records a message id, and refuses it if it stands for another content.
func (p *importPlan) note(t turn) error {
	said := string(t.message.Role) + "\x00" + memory.CleanText(t.message.Content)
	use := firstUse{where: t.where, said: sha256.Sum256([]byte(said))}
	old, known := p.first[t.key()]
	if !known {
		p.first[t.key()] = use
		return nil
	}
	if old.said != use.said {
		return fmt.Errorf("the message id of %s is used again for another content", old.where)
	}
	return nil
}

// repeats reports whether an earlier turn of the file is the same message.
func (p *importPlan) repeats(t turn) bool { return p.first[t.key()].where != t.where }

// key identifies the message: its id within its conversation and user.
func (t turn) key() [sha256.Size]byte {
	return sha256.Sum256([]byte(t.user + "\x00" + t.conversation + "\x00" + t.message.ID))
}

// check applies the library's limits, which would else stop the import half-way.
func (t turn) check() error {
	if err := memory.CheckID("conversation_id", t.conversation); err != nil {
		return err
	}
	if err := memory.CheckID("id", t.message.ID); err != nil {
		return err
	}
	for _, optional := range [][2]string{{"session_id", t.session}, {"name", t.message.Name}, {"source", t.message.Source}} {
		if optional[1] != "" {
			if err := memory.CheckID(optional[0], optional[1]); err != nil {
				return err
			}
		}
	}
	if memory.IsBlank(t.message.Content) {
		return errors.New("content: blank")
	}
	if n := len(t.message.Content); n > memory.MaxMessageBytes {
		return fmt.Errorf("content: %d bytes, at most %d", n, memory.MaxMessageBytes)
	}
	_, err := t.message.Metadata.Canonical()
	return err
}

// badTurn names the place and says that nothing was written. What is wrong in a
// file is a failure, not a usage error, whatever the library calls it.
func badTurn(where string, err error) error {
	return fmt.Errorf("%s: %s; nothing was imported", where, err.Error())
}
