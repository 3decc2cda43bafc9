package retrieve

import "github.com/meminfra/memory-layer/index"

// reach is how many admitted messages away a neighbour in the same session may
// be, when conversations run side by side.
const reach = 64

// none stands for no row, number or place.
const none = -1

// messages are the admitted messages, numbered in the order of writing: what
// stands around a row is asked for often enough in a search to be worked out once
// for all searches of a census.
type messages struct {
	list    []message
	numbers []int32 // by row, as far as they go: none for one that is no admitted message

	sessions map[session]int32 // numbered as they came
	ends     []int32           // by session: its last message so far
	last     session           // of the last message
}

type session struct{ conversation, id string }

// message is a message, and by number those before and after it in its session.
type message struct {
	row        int32
	session    int32
	prev, next int32
}

// newMessages returns none yet, with room for so many.
func newMessages(most int) messages {
	return messages{list: make([]message, 0, most), numbers: make([]int32, 0, most), sessions: map[session]int32{}}
}

// Bytes is what they cost in memory, approximately.
func (m *messages) Bytes() int64 {
	const message, session = 16, 64
	return int64(message*cap(m.list) + 4*cap(m.numbers) + session*len(m.sessions))
}

// add puts a message at the end of the list and of its session.
func (m *messages) add(row int, a *index.Attr) {
	number := int32(len(m.list))
	x := message{row: int32(row), session: m.sessionOf(a), next: none}
	x.prev, m.ends[x.session] = m.ends[x.session], number
	if x.prev != none {
		m.list[x.prev].next = number
	}
	m.list = append(m.list, x)
	for len(m.numbers) < row {
		m.numbers = append(m.numbers, none)
	}
	m.numbers = append(m.numbers, number)
}

// sessionOf returns the number of a message's session, most often that of the
// message before.
func (m *messages) sessionOf(a *index.Attr) int32 {
	if n := len(m.list); n > 0 && m.last.id == a.SessionID && m.last.conversation == a.ConversationID {
		return m.list[n-1].session
	}
	m.last = session{a.ConversationID, a.SessionID}
	number, known := m.sessions[m.last]
	if !known {
		number = int32(len(m.ends))
		m.sessions[m.last], m.ends = number, append(m.ends, none)
	}
	return number
}

// home is the number of the message that a row is or was made from, none if that
// may not be seen.
func (m *messages) home(v *index.View, row int) int32 {
	if number := m.number(row); number != none {
		return number
	}
	if source, ok := v.Source(row); ok {
		return m.number(source)
	}
	return none
}

func (m *messages) number(row int) int32 {
	if row >= len(m.numbers) {
		return none
	}
	return m.numbers[row]
}

// The messages around one, by place.
const (
	prev2 = iota
	prev
	next
	next2
	places
)

// around is a message with the rows around it; none where there is none.
type around [places]int32

// around finds the neighbours of a message, by its number.
func (m *messages) around(number int32) around {
	out := around{none, none, none, none}
	at := number
	for _, place := range [...]int{prev, prev2} {
		if at = m.list[at].prev; at == none || number-at > reach {
			break
		}
		out[place] = m.list[at].row
	}
	at = number
	for _, place := range [...]int{next, next2} {
		if at = m.list[at].next; at == none || at-number > reach {
			break
		}
		out[place] = m.list[at].row
	}
	return out
}
