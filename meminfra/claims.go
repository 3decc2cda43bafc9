package meminfra

import (
	"strconv"
	"strings"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// claim is a candidate that was checked: its quote found, its words canonical,
// its authority taken from who said it.
type claim struct {
	item     memory.Item     // all but what reconciling gives it
	evidence memory.Evidence // likewise
	episode  *memory.Episode
	decision string // id of the decision about it
	// operation is what brought the claim: add or edit.
	operation string
	candidate int  // place in the extractor's output
	managed   bool // the manager was asked about it
}

// statementID is the identity of a witness: the same words of the same message
// about the same value are one statement, however often they are read.
func statementID(e *memory.Evidence, valueID string) string {
	var b strings.Builder
	b.Grow(len(e.EpisodeID) + len(valueID) + 24)
	b.WriteString(e.EpisodeID)
	for _, n := range []int{e.Start, e.End, int(e.Polarity)} {
		b.WriteByte(':')
		b.WriteString(strconv.Itoa(n))
	}
	b.WriteByte(':')
	b.WriteString(valueID)
	return b.String()
}

// statement reads the claim's statement off its evidence.
func (c *claim) statement() memory.Statement {
	return memory.Statement{
		ID:             statementID(&c.evidence, c.item.ValueID),
		ValueID:        c.item.ValueID,
		Polarity:       c.evidence.Polarity,
		Authority:      c.evidence.Authority,
		Valid:          c.evidence.Stated,
		SentAt:         c.episode.SentAt,
		ConversationID: c.episode.ConversationID,
		Position:       position(c.episode.Seq, c.evidence.Start),
	}
}

// position orders statements by message and then by place in it; a message is
// shorter than 2^21 bytes.
func position(seq int64, start int) int64 { return seq<<21 | int64(start) }

// storedStatement reads a statement off stored evidence.
func storedStatement(e *storage.EvidenceRecord, valueID string) memory.Statement {
	return memory.Statement{
		ID:             statementID(&e.Evidence, valueID),
		ValueID:        valueID,
		Polarity:       e.Polarity,
		Authority:      e.Authority,
		Valid:          e.Stated,
		SentAt:         e.SentAt,
		ConversationID: e.ConversationID,
		Position:       position(e.EpisodeSeq, e.Start),
	}
}

// check turns the extractor's candidates into claims, in order, and rejects
// those that do not hold. One bad candidate is rejected alone.
func (a *addition) check(found extract.Output, waiting map[string]*memory.Episode) []claim {
	claims := make([]claim, 0, len(found.Candidates))
	a.sources = map[string]*extract.Source{}
	for i := range found.Candidates {
		c := &found.Candidates[i]
		episode := waiting[c.EpisodeID]
		if episode == nil && a.isTarget(c.EpisodeID) {
			continue // another call has finished this message meanwhile
		}
		cl, reason := a.claim(c, episode)
		if reason != "" {
			r := Rejection{EpisodeID: c.EpisodeID, Predicate: c.Predicate, Reason: reason}
			if episode != nil {
				r.MessageID = episode.MessageID
			}
			a.result.Rejections = append(a.result.Rejections, r)
			continue
		}
		cl.candidate = i
		claims = append(claims, cl)
	}
	return claims
}

func (a *addition) isTarget(episodeID string) bool {
	for i := range a.target {
		if a.target[i].ID == episodeID {
			return true
		}
	}
	return false
}

// claim checks one candidate; reason is "" if it stands.
func (a *addition) claim(c *extract.Candidate, episode *memory.Episode) (_ claim, reason string) {
	if episode == nil {
		return claim{}, "quotes_no_target_message"
	}
	start, end, reason := a.quote(c, episode)
	if reason != "" {
		return claim{}, reason
	}
	if c.Polarity != memory.Positive && c.Polarity != memory.Negative {
		return claim{}, "no_polarity"
	}
	item, reason := a.item(c, episode)
	if reason != "" {
		return claim{}, reason
	}
	item.Stated = stated(c, episode)
	if item.Stated.Empty() {
		return claim{}, "ends_before_it_begins"
	}
	return claim{item: item, episode: episode, operation: "add", evidence: memory.Evidence{
		Partition: episode.Partition,
		EpisodeID: episode.ID,
		Quote:     episode.Content[start:end],
		Start:     start,
		End:       end,
		Full:      true,
		Polarity:  c.Polarity,
		Authority: item.Authority,
		Stated:    item.Stated,
		Salt:      newSalt(),
	}}, ""
}

// quote verifies a candidate's quote in the message that it cites.
func (a *addition) quote(c *extract.Candidate, episode *memory.Episode) (start, end int, reason string) {
	source := a.sources[episode.ID]
	if source == nil {
		source = extract.NewSource(episode.Content)
		a.sources[episode.ID] = source
	}
	start, end, fault := source.Find(c.Quote, c.Value, c.Start)
	if fault == extract.QuoteNotFound && a.isElsewhere(c.Quote, episode.ID) {
		fault = extract.QuoteElsewhere
	}
	return start, end, string(fault)
}

// isElsewhere reports that another message of the call says the very words.
func (a *addition) isElsewhere(quote, episodeID string) bool {
	if memory.IsBlank(quote) {
		return false
	}
	for _, list := range [][]memory.Episode{a.target, a.context} {
		for i := range list {
			if list[i].ID != episodeID && strings.Contains(list[i].Content, quote) {
				return true
			}
		}
	}
	return false
}

// item makes the item that a candidate would become, its words canonical.
func (a *addition) item(c *extract.Candidate, episode *memory.Episode) (_ memory.Item, reason string) {
	subject := memory.Subject{Type: c.Subject.Type, Name: memory.FoldName(c.Subject.Name)}
	if subject.Type == "" {
		return memory.Item{}, "no_subject"
	}
	text := itemText(c)
	item := memory.Item{
		Partition:  episode.Partition,
		Kind:       c.Kind,
		Text:       text,
		TextKey:    memory.NormalText(text),
		Subject:    subject,
		Predicate:  c.Predicate,
		Value:      memory.CleanText(c.Value),
		Polarity:   c.Polarity,
		Authority:  episode.Role.Authority(),
		Scope:      memory.Scope{UserID: a.req.UserID, AgentID: episode.AgentID, Visibility: memory.VisibilityPrivate},
		Vague:      c.Vague,
		Importance: c.Importance,
		Confidence: c.Confidence,
		Metadata:   episode.Metadata,
		Salt:       newSalt(),
	}
	if len(item.Predicate) > memory.MaxFieldBytes || len(item.Value) > memory.MaxFieldBytes ||
		len(subject.Name) > memory.MaxFieldBytes || len(item.Text) > memory.MaxMessageBytes {
		return memory.Item{}, "too_long"
	}
	return item, a.canonicalise(&item)
}

// canonicalise gives the item its canonical predicate, value and fact key. An
// unknown predicate stays open memory with its label and value; a known one
// without a value is no statement.
func (a *addition) canonicalise(item *memory.Item) (reason string) {
	p, known := a.registry.Lookup(item.Predicate)
	if !known {
		item.ValueID = memory.FoldName(item.Value)
		item.Kind = kindOr(item.Kind, memory.KindFact)
		return ""
	}
	item.Predicate = p.Name
	item.Kind = kindOr(item.Kind, memory.Kind(p.Kind))
	shown, id, ok := a.registry.Value(p.Name, item.Value)
	if !ok {
		return "no_value"
	}
	item.Value, item.ValueID = shown, id
	item.FactKey, _ = a.registry.Key(item.Subject.Type, subjectName(item.Subject, a.req.UserID), p.Name, id)
	return ""
}

// subjectName is what a subject is called in a fact key: the user by his id.
func subjectName(s memory.Subject, userID string) string {
	if s == memory.UserSubject {
		return userID
	}
	return s.Name
}

func kindOr(k, other memory.Kind) memory.Kind {
	if k == "" {
		return other
	}
	return k
}

// stated is the interval that a candidate states. The present tense starts when
// it was said; an undated past ended then and its start is unknown.
func stated(c *extract.Candidate, episode *memory.Episode) memory.Validity {
	v := memory.Validity{From: memory.Time(c.Stated.From), To: memory.Time(c.Stated.To)}
	switch {
	case c.Past && v.To.IsZero():
		v.To = episode.SentAt
	case v.From.IsZero() && !c.Past:
		v.From = episode.SentAt
	}
	return v
}
