package predicates_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/predicates"
)

func TestShippedHasTheBriefsPredicates(t *testing.T) {
	single := strings.Fields(`name location timezone database_preference project_status employer job_title birthday age
		relationship_status partner native_language email phone favourite editor_preference`)
	multi := strings.Fields(`framework_preference programming_language skill interest works_on child sibling parent pet nationality
		spoken_language diet allergy medication hobby dislikes education goal owns travel_plan operating_system communication_preference instruction`)
	reg := predicates.Default()
	check := func(names []string, want predicates.Cardinality) {
		for _, name := range names {
			p, ok := reg.Lookup(name)
			if !ok || p.Cardinality != want || len(p.Statements) == 0 || len(p.Questions) == 0 {
				t.Errorf("%s: found %v, %s, %d statements, %d questions", name, ok, p.Cardinality, len(p.Statements), len(p.Questions))
			}
		}
	}
	check(single, predicates.Single)
	check(multi, predicates.Multi)
	if got, want := len(reg.All()), len(single)+len(multi); got != want {
		t.Errorf("%d predicates, want %d", got, want)
	}
}

func TestCanonical(t *testing.T) {
	tests := []struct{ label, want string }{
		{"location", "location"}, {"  Location ", "location"}, {"Current-City", "location"}, {"current  city", "location"},
		{"LIVES_IN", "location"}, {"ｌｏｃａｔｉｏｎ", "location"}, {"preferred database", "database_preference"},
		{"job", "job_title"}, {"_job_title_", "job_title"}, {"locations", ""}, {"", ""}, {"lives", ""},
	}
	for _, tt := range tests {
		got, ok := predicates.Default().Canonical(tt.label)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("Canonical(%q) = %q, %v; want %q", tt.label, got, ok, tt.want)
		}
	}
}

func TestValue(t *testing.T) {
	tests := []struct{ predicate, raw, shown, id string }{
		{"database_preference", "postgres.", "PostgreSQL", "postgresql"},
		{"db_preference", " PostgreSQL ", "PostgreSQL", "postgresql"},
		{"location", "NYC", "New York City", "new york city"},
		{"location", "the Netherlands", "Netherlands", "netherlands"},
		{"location", "UK", "United Kingdom", "united kingdom"},
		{"location", "The Hague", "The Hague", "hague"},
		{"location", "Sao  Paulo!", "São Paulo", "são paulo"},
		{"location", "Portland, Oregon", "Portland, Oregon", "portland, oregon"},
		{"programming_language", "JS", "JavaScript", "javascript"},
		{"programming_language", "c++", "C++", "c++"},
		{"programming_language", "C", "C", "c"},
		{"programming_language", "c#.", "C#", "c#"},
		{"framework_preference", ".net", ".NET", ".net"},
		{"framework_preference", "node.js", "Node.js", "node.js"},
		{"employer", "the harbour office", "harbour office", "harbour office"},
		{"employer", "“Acme”", "Acme", "acme"},
		{"birthday", "May 31st", "--05-31", "--05-31"},
		{"birthday", "3rd of May, 1985", "1985-05-03", "1985-05-03"},
		{"birthday", "29 February", "--02-29", "--02-29"},
		{"birthday", "1985/05/03", "1985-05-03", "1985-05-03"},
		{"birthday", "03/04/1990", "03/04/1990", "03/04/1990"},
		{"age", "34 years old", "34", "34"},
		{"age", "thirty-two", "32", "32"},
		{"phone", "+44 (0)20 7946-0958", "+4402079460958", "+4402079460958"},
		{"phone", "0044 20 7946 0958", "+442079460958", "+442079460958"},
		{"email", "Ada@Example.COM.", "ada@example.com", "ada@example.com"},
		{"timezone", "GMT+2", "UTC+02:00", "utc+02:00"},
		{"timezone", "utc-3:30", "UTC-03:30", "utc-03:30"},
		{"timezone", "pst", "America/Los_Angeles", "america/los_angeles"},
		{"favourite", "Color: Green", "colour: Green", "colour: green"},
		{"favourite", "movie: The Matrix", "film: The Matrix", "film: matrix"},
		{"hobby", "hike 😀", "hiking", "hiking"},
		{"pet", "MIA 😻", "MIA", "mia"},
		{"name", "Straße", "Straße", "strasse"},
		{"name", "Anne O’Neill", "Anne O’Neill", "anne o'neill"},
		{"employer", "McDonaldʼs", "McDonaldʼs", "mcdonald's"},
		{"medication", "metformin", "metformin", "metformin"},
		{"medication", "50mg Zoloft", "50 mg of sertraline", "50 mg of sertraline"},
		{"medication", "Zoloft 50 mg tablets", "50 mg of sertraline", "50 mg of sertraline"},
		{"medication", "0,50 mg of Warfarin", "0.5 mg of warfarin", "0.5 mg of warfarin"},
		{"medication", "1,000 milligrams of the metformin", "1000 mg of metformin", "1000 mg of metformin"},
		{"medication", "two pills of Advil", "2 pills of ibuprofen", "2 pills of ibuprofen"},
		{"medication", "two Advil", "2 ibuprofen", "2 ibuprofen"},
		{"medication", "5/325 mg Norco", "5/325 mg of Norco", "5/325 mg of norco"},
		{"medication", "5 HTP", "5 HTP", "5 htp"},
		{"medication", "5 mg of", "5 mg of", "5 mg of"},
	}
	for _, tt := range tests {
		shown, id, ok := predicates.Default().Value(tt.predicate, tt.raw)
		if shown != tt.shown || id != tt.id || !ok {
			t.Errorf("Value(%s, %q) = %q, %q, %v; want %q, %q", tt.predicate, tt.raw, shown, id, ok, tt.shown, tt.id)
		}
	}
}

func TestValueRefused(t *testing.T) {
	tests := []struct{ predicate, raw string }{
		{"location", ""}, {"location", " \u200b\n"}, {"location", "..."}, {"location", "😀"}, {"location", "\x00"},
		{"age", "old"}, {"email", "not an address"}, {"phone", "12"}, {"phone", "call me"}, {"favourite", "green"},
		{"favourite", ": green"}, {"favourite", "colour: "}, {"no_such_predicate", "x"}, {"timezone", "UTC+99"},
	}
	for _, tt := range tests {
		if shown, id, ok := predicates.Default().Value(tt.predicate, tt.raw); ok {
			t.Errorf("Value(%s, %q) = %q, %q: want a refusal", tt.predicate, tt.raw, shown, id)
		}
	}
}

// Synonyms are exact: what only looks alike stays apart.
func TestValuesKeptApart(t *testing.T) {
	pairs := [][3]string{
		{"programming_language", "C", "C++"}, {"programming_language", "C++", "C#"}, {"programming_language", "Java", "JavaScript"},
		{"location", "Portland, Oregon", "Portland, Maine"}, {"operating_system", "Windows 10", "Windows 11"},
		{"phone", "+47 22 22 22 22", "+47 22 22 22 23"}, {"location", "York", "New York"}, {"age", "5", "50"},
		{"medication", "5 mg of metformin", "50 mg of metformin"}, {"medication", "5 mg of metformin", "5 g of metformin"},
		{"medication", "5 mg of metformin", "metformin"}, {"name", "O'Neill", "ONeill"},
	}
	for _, p := range pairs {
		_, a, _ := predicates.Default().Value(p[0], p[1])
		_, b, _ := predicates.Default().Value(p[0], p[2])
		if a == b {
			t.Errorf("%s: %q and %q share the identity %q", p[0], p[1], p[2], a)
		}
	}
}

func TestKey(t *testing.T) {
	reg := predicates.Default()
	tests := []struct{ subject, name, predicate, value, want string }{
		{"user", "ada", "location", "oslo", "user:ada:location"},
		{"User", "ada", "current_city", "", "user:ada:location"},
		{"user", "ada", "programming_language", "c++", "user:ada:programming_language:c%2B%2B"},
		{"user", "a/b c:d", "location", "", "user:a%2Fb%20c%3Ad:location"},
		{"user", "Ada", "location", "", "user:Ada:location"},
		{"person", "gina", "location", "", "person:gina:location"},
		{"project", "kiln", "project_status", "done", "project:kiln:project_status"},
		{"user", "ada", "favourite", "colour: green", "user:ada:favourite:colour"},
		{"user", "é", "location", "", "user:%C3%A9:location"},
		{"user", "ada", "hobby", "", ""},
		{"user", "ada", "favourite", "green", ""},
		{"user", " ", "location", "", ""},
		{"user", "ada", "project_status", "done", ""},
		{"project", "kiln", "location", "oslo", ""},
		{"user", "ada", "shoe_size", "43", ""},
	}
	for _, tt := range tests {
		got, ok := reg.Key(tt.subject, tt.name, tt.predicate, tt.value)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("Key(%s, %s, %s, %s) = %q, %v; want %q", tt.subject, tt.name, tt.predicate, tt.value, got, ok, tt.want)
		}
	}
	if got, want := predicates.FactKey("Some Type", " n ", "p", ""), "some_type:n:p"; got != want {
		t.Errorf("FactKey = %q, want %q", got, want)
	}
}

func TestDeriving(t *testing.T) {
	shipped := predicates.Default()
	before := len(shipped.All())
	shoe := predicates.Predicate{Name: "shoe_size", Cardinality: predicates.Single, Kind: "fact", Value: "number", Statements: []string{"my shoe size is {value:number}"}}
	wider, err := shipped.With(shoe)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := wider.Canonical("Shoe Size"); !ok {
		t.Error("the added predicate is not there")
	}
	p, _ := shipped.Lookup("location")
	p.Cardinality = predicates.Multi
	changed, err := shipped.With(p)
	if err != nil {
		t.Fatal(err)
	}
	if q, _ := changed.Lookup("location"); q.Cardinality != predicates.Multi || len(changed.All()) != before {
		t.Error("the predicate was not replaced")
	}
	few, err := shipped.Only("city", "employer")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := few.Canonical("name"); ok || len(few.All()) != 2 {
		t.Error("the registry was not restricted")
	}
	list := shipped.All()
	list[0].Aliases[0], list[1].Terms["Oslo"] = "broken", []string{"broken"}
	if q, _ := shipped.Lookup("location"); q.Cardinality != predicates.Single || len(shipped.All()) != before {
		t.Error("the shipped registry changed")
	}
	if _, ok := shipped.Canonical("broken"); ok || shipped.Term("location", "broken") {
		t.Error("the shipped registry shares memory with what All returned")
	}
	if _, err := shipped.Only("no_such"); !errors.Is(err, predicates.ErrInvalid) {
		t.Errorf("Only of an unknown name: %v", err)
	}
}

func TestInvalid(t *testing.T) {
	ok := predicates.Predicate{Name: "x", Cardinality: predicates.Single, Kind: "fact"}
	change := func(f func(*predicates.Predicate)) []predicates.Predicate {
		p := ok
		f(&p)
		return []predicates.Predicate{p}
	}
	tests := map[string][]predicates.Predicate{
		"no name":         change(func(p *predicates.Predicate) { p.Name = "" }),
		"upper case":      change(func(p *predicates.Predicate) { p.Name = "Big" }),
		"cardinality":     change(func(p *predicates.Predicate) { p.Cardinality = "many" }),
		"kind":            change(func(p *predicates.Predicate) { p.Kind = "rumour" }),
		"subject":         change(func(p *predicates.Predicate) { p.Subjects = []string{"planet"} }),
		"canonicaliser":   change(func(p *predicates.Predicate) { p.Value = "sonnet" }),
		"keyed multi":     change(func(p *predicates.Predicate) { p.Keyed, p.Cardinality = true, predicates.Multi }),
		"template":        change(func(p *predicates.Predicate) { p.Statements = []string{"I (like {value}"} }),
		"empty template":  change(func(p *predicates.Predicate) { p.Questions = []string{"[maybe]"} }),
		"blank alias":     change(func(p *predicates.Predicate) { p.Aliases = []string{" - "} }),
		"term not tidy":   change(func(p *predicates.Predicate) { p.Terms = map[string][]string{"the UK.": nil} }),
		"ambiguous term":  change(func(p *predicates.Predicate) { p.Terms = map[string][]string{"A1": {"x"}, "B1": {"X"}} }),
		"same name twice": {ok, ok},
		"alias is a name": {ok, {Name: "y", Cardinality: predicates.Single, Kind: "fact", Aliases: []string{"X"}}},
	}
	delete(tests, "same name twice")
	for name, list := range tests {
		if _, err := predicates.New(list); !errors.Is(err, predicates.ErrInvalid) {
			t.Errorf("%s: error %v, want ErrInvalid", name, err)
		}
	}
	if _, err := predicates.New([]predicates.Predicate{ok, ok}); !errors.Is(err, predicates.ErrInvalid) {
		t.Errorf("the same name twice: %v", err)
	}
}

func TestParse(t *testing.T) {
	text := `{"lists": {"colours": ["red", "light blue"]}, "vocabularies": {"v": {"Red": ["crimson"]}},
		"predicates": [{"name": "car_colour", "cardinality": "single", "kind": "fact", "vocabulary": "v",
			"statements": ["my car is (@colours) {value}"], "heads": ["@colours"]}]}`
	reg, err := predicates.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	p, _ := reg.Lookup("car colour")
	if p.Statements[0] != "my car is (red|light blue) {value}" || len(p.Heads) != 2 || !reg.Term("car_colour", "Crimson") {
		t.Errorf("parsed as %+v", p)
	}
	for name, broken := range map[string]string{
		"unknown field":      `{"predicates": [{"name": "x", "cardinalty": "single"}]}`,
		"unknown vocabulary": `{"predicates": [{"name": "x", "cardinality": "single", "kind": "fact", "vocabulary": "w"}]}`,
		"no JSON":            `predicates`,
	} {
		if _, err := predicates.Parse(strings.NewReader(broken)); !errors.Is(err, predicates.ErrInvalid) {
			t.Errorf("%s: error %v, want ErrInvalid", name, err)
		}
	}
}

func TestExpand(t *testing.T) {
	forms, err := predicates.Expand("my [new] (job|line of work) is {value:known}")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	for _, f := range forms {
		got.WriteString(strings.Join(f, " ") + "\n")
	}
	want := "my job is {value:known}\nmy line of work is {value:known}\nmy new job is {value:known}\nmy new line of work is {value:known}\n"
	if got.String() != want {
		t.Errorf("expanded to\n%s", got.String())
	}
}

// FuzzCanonicalTwice: canonicalising what was shown changes nothing.
func FuzzCanonicalTwice(f *testing.F) {
	for _, s := range []string{"postgres", "the The a Hague", "“ 'x' ”", "May 31st", "colour: ﬁ: x", "İ", "ß\u0301", "\xff", "+00 44 20", "UTC−2", "a\u200b b", "ǰ", "K", ". . a",
		"ŉ’ʼx", "50mg 5 mg of x 2 pills", "two a Advil", "5 mg of of"} {
		f.Add(s)
	}
	reg := predicates.Default()
	list := reg.All()
	f.Fuzz(func(t *testing.T, raw string) {
		for _, p := range list {
			shown, id, ok := reg.Value(p.Name, raw)
			if !ok {
				continue
			}
			again, id2, ok := reg.Value(p.Name, shown)
			if !ok || again != shown || id2 != id || shown == "" || id == "" {
				t.Errorf("%s: %q became %q (%q), then %q (%q, %v)", p.Name, raw, shown, id, again, id2, ok)
			}
			if _, fine := reg.Key("user", "u", p.Name, id); !fine && p.Allows("user") {
				t.Errorf("%s: no key for the identity %q", p.Name, id)
			}
		}
		name, ok := reg.Canonical(raw)
		if again, _ := reg.Canonical(name); ok && again != name {
			t.Errorf("label %q became %q, then %q", raw, name, again)
		}
	})
}

// A head of two words is known by both: "truck driver" is a job, "careful driver" none.
func TestHeadOfTwoWords(t *testing.T) {
	reg := predicates.Default()
	for value, want := range map[string]bool{"truck driver": true, "night truck driver": true, "careful driver": false, "driver": false, "nurse": true} {
		if got := reg.Known("job_title", value); got != want {
			t.Errorf("Known(job_title, %q) = %v", value, got)
		}
	}
}
