package meminfra

import (
	"slices"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// testimony is one witness of a proposition: a full witness, or the parts that
// state it together and are all needed. Source: papers.md section 5, T3 (MIX).
type testimony []memory.Evidence

// authority is that of the weakest part.
func (w testimony) authority() memory.Authority {
	weakest := w[0].Authority
	for _, e := range w[1:] {
		weakest = min(weakest, e.Authority)
	}
	return weakest
}

// id is the identity of a witness: the same words of the same messages about
// the same value are one statement, however often they are read.
func (w testimony) id(valueID string) string {
	id := statementID(&w[0], valueID)
	if w[0].Full {
		return id
	}
	for i := range w[1:] {
		id += "+" + statementID(&w[1+i], "")
	}
	return "parts:" + id
}

// compose makes parts of evidence if there are several: none of them states the
// proposition by itself.
func compose(lead memory.Evidence, parts []memory.Evidence) testimony {
	w := testimony{lead}
	for i := range parts {
		id := statementID(&parts[i], "")
		if !slices.ContainsFunc(w, func(e memory.Evidence) bool { return statementID(&e, "") == id }) {
			w = append(w, parts[i])
		}
	}
	for i := range w {
		w[i].Full = len(w) == 1
	}
	return w
}

// numbered gives the pieces of a witness to an item, after its first n pieces.
func (w testimony) numbered(itemID string, n int) testimony {
	out := append(testimony(nil), w...)
	for i := range out {
		out[i].ItemID, out[i].N, out[i].Lead = itemID, n+1+i, 0
		if !out[i].Full {
			out[i].Lead = n + 1
		}
	}
	return out
}

// told is a stored witness with what the fold needs of its episode: that of its
// first part.
type told struct {
	testimony
	first *storage.EvidenceRecord
}

// testimonies groups an item's evidence, which is in order, by witness.
func testimonies(list []storage.EvidenceRecord) []told {
	var out []told
	at := map[int]int{} // by lead
	for i := range list {
		e := &list[i]
		if n, known := at[e.Lead]; known && !e.Full {
			out[n].testimony = append(out[n].testimony, e.Evidence)
			continue
		}
		if !e.Full {
			at[e.Lead] = len(out)
		}
		out = append(out, told{testimony{e.Evidence}, e})
	}
	return out
}

// told is the claim's witness as an item would keep it.
func (c *claim) told() told {
	return told{c.testimony(), &storage.EvidenceRecord{Evidence: c.evidence, MessageID: c.episode.MessageID,
		ConversationID: c.episode.ConversationID, SentAt: c.episode.SentAt, EpisodeSeq: c.episode.Seq}}
}

// attachOpen adds a witness to an open-world item that does not have it yet.
func (w *batch) attachOpen(r *storage.ItemRecord, wit told, decision string) {
	for _, old := range testimonies(r.Evidence) {
		if old.id("") == wit.id("") {
			return
		}
	}
	for _, e := range wit.numbered(r.ID, w.lastNumber(r)) {
		w.addEvidence(e, decision)
		kept := *wit.first
		kept.Evidence = e
		r.Evidence = append(r.Evidence, kept)
	}
}

// statement reads a statement off a stored witness.
func (w *told) statement(valueID string) memory.Statement {
	return memory.Statement{
		ID:             w.id(valueID),
		ValueID:        valueID,
		Polarity:       w.first.Polarity,
		Authority:      w.authority(),
		Valid:          w.first.Stated,
		SentAt:         w.first.SentAt,
		ConversationID: w.first.ConversationID,
		Position:       position(w.first.EpisodeSeq, w.first.Start),
	}
}

// weakened is a teller's item as a witness of its own authority tells it: an
// echo that gets a version of its own is no stronger for having been heard
// beside the user's word.
func weakened(item memory.Item, authority memory.Authority) memory.Item {
	if item.Authority <= authority {
		return item
	}
	voice := "a tool or document"
	if authority == memory.Attested {
		voice = extract.Voice(memory.RoleAssistant, "")
	}
	item.Text = extract.Attributed([]string{voice}, bareText(item))
	item.Authority = authority
	return item
}
