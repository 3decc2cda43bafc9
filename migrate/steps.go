package migrate

import (
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
)

// step is one numbered change of the schema.
type step struct {
	version  uint
	name     string // NNNN_title
	up, down string
}

var upName = regexp.MustCompile(`^(([0-9]{4})_[a-z0-9_]+)\.up\.sql$`)

// readSteps reads the steps in order and insists that they are numbered
// without a gap from 1 and that each can be undone.
func readSteps(files fs.FS) ([]step, error) {
	entries, err := fs.ReadDir(files, ".") // sorted by name, so by number
	if err != nil {
		return nil, err
	}
	var steps []step
	for _, e := range entries {
		match := upName.FindStringSubmatch(e.Name())
		if match == nil {
			continue
		}
		number, err := strconv.ParseUint(match[2], 10, 32)
		if err != nil || int(number) != len(steps)+1 {
			return nil, fmt.Errorf("%s: want number %d", e.Name(), len(steps)+1)
		}
		up, err := fs.ReadFile(files, e.Name())
		if err != nil {
			return nil, err
		}
		down, err := fs.ReadFile(files, match[1]+".down.sql")
		if err != nil {
			return nil, err
		}
		steps = append(steps, step{uint(number), match[1], string(up), string(down)})
	}
	if len(steps) == 0 || len(entries) != 2*len(steps) {
		return nil, fmt.Errorf("%d files, %d steps: want one up and one down file for each", len(entries), len(steps))
	}
	return steps, nil
}

func (m *Migrator) stepName(version uint) string {
	for _, s := range m.steps {
		if s.version == version {
			return s.name
		}
	}
	return strconv.FormatUint(uint64(version), 10)
}

// Direction is which way SQL shows the steps.
type Direction string

// The directions.
const (
	Up   Direction = "up"
	Down Direction = "down"
)

// SQL returns the text of all steps in the order in which they run, each under
// a comment with its file name.
func (m *Migrator) SQL(direction Direction) string {
	var b strings.Builder
	for i := range m.steps {
		s, text := m.steps[i], m.steps[i].up
		if direction == Down {
			s = m.steps[len(m.steps)-1-i]
			text = s.down
		}
		fmt.Fprintf(&b, "-- %s.%s.sql\n%s\n", s.name, direction, strings.TrimRight(text, "\n"))
	}
	return b.String()
}
