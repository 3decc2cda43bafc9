package intent_test

import (
	"testing"

	"github.com/meminfra/memory-layer/intent"
	"github.com/meminfra/memory-layer/predicates"
)

func TestInfer(t *testing.T) {
	type q = intent.QueryIntent
	cur, hist, all := intent.Current, intent.Historical, intent.Any
	tests := []struct {
		query string
		want  q
	}{
		{"Where do I live?", q{Predicate: "location", Scope: cur}},
		{"where do i live now", q{Predicate: "location", Scope: cur}},
		{"Where am I living these days?", q{Predicate: "location", Scope: cur}},
		{"Which city do I live in?", q{Predicate: "location", Scope: cur}},
		{"Where did I use to live?", q{Predicate: "location", Scope: hist}},
		{"Where did I live before?", q{Predicate: "location", Scope: hist}},
		{"Where did I live in 2019?", q{Predicate: "location", Scope: hist}},
		{"Where have I lived?", q{Predicate: "location", Scope: all}},
		{"Do I live in Oslo?", q{Predicate: "location", Value: "Oslo", Scope: cur}},
		{"Tell me where I live", q{Predicate: "location", Scope: cur}},
		{"Which database do I prefer?", q{Predicate: "database_preference", Scope: cur}},
		{"What database do I use for work?", q{Predicate: "database_preference", Scope: cur}},
		{"what's my preferred database", q{Predicate: "database_preference", Scope: cur}},
		{"What database did I use before?", q{Predicate: "database_preference", Scope: hist}},
		{"Which database did I switch to?", q{Predicate: "database_preference", Scope: cur}},
		{"Do I still use Vim?", q{Predicate: "editor_preference", Value: "Vim", Scope: cur}},
		{"Did I use Postgres?", q{Predicate: "database_preference", Value: "PostgreSQL", Scope: hist}},
		{"Have I ever used anything?", q{}},
		{"What was my job before?", q{Predicate: "job_title", Scope: hist}},
		{"What's my job?", q{Predicate: "job_title", Scope: cur}},
		{"Do you remember what my job is?", q{Predicate: "job_title", Scope: cur}},
		{"Which languages do I know?", q{Predicate: "programming_language", Scope: cur}},
		{"Which languages do I speak?", q{Predicate: "spoken_language", Scope: cur}},
		{"Where does Gina work?", q{Predicate: "employer", Subject: "gina", Scope: cur}},
		{"Where did Jon work?", q{Predicate: "employer", Subject: "jon", Scope: hist}},
		{"What is Gina's job?", q{Predicate: "job_title", Subject: "gina", Scope: cur}},
		{"Who is Jon's wife?", q{Predicate: "partner", Subject: "jon", Scope: cur}},
		{"When was I born?", q{Predicate: "birthday", Scope: cur}},
		{"When is my birthday?", q{Predicate: "birthday", Scope: cur}},
		{"How old am I?", q{Predicate: "age", Scope: cur}},
		{"What am I allergic to?", q{Predicate: "allergy", Scope: cur}},
		{"Am I allergic to nuts?", q{Predicate: "allergy", Value: "nuts", Scope: cur}},
		{"What is my favourite colour?", q{Predicate: "favourite", Category: "colour", Scope: cur}},
		{"what is my favorite movie", q{Predicate: "favourite", Category: "film", Scope: cur}},
		{"What is my dog's name?", q{Predicate: "pet", Scope: cur}},
		{"What are my hobbies?", q{Predicate: "hobby", Scope: cur}},
		{"What is the status of the Kiln project?", q{Predicate: "project_status", Subject: "kiln", Scope: cur}},
		{"Who did I work for before?", q{Predicate: "employer", Scope: hist}},
		{"What is my email?", q{Predicate: "email", Scope: cur}},
		{"Am I vegan?", q{Predicate: "diet", Value: "vegan", Scope: cur}},

		{"what db am I on these days?", q{Predicate: "database_preference", Scope: cur}},
		{"am I allergic to anything?", q{Predicate: "allergy", Scope: cur}},
		{"whats my wifes name", q{Predicate: "partner", Scope: cur}},
		{"my job?", q{Predicate: "job_title", Scope: cur}},
		{"Gina's job?", q{Predicate: "job_title", Subject: "gina", Scope: cur}},
		{"what did I say my name was?", q{Predicate: "name", Scope: cur}},
		{"what do you know about my job?", q{Predicate: "job_title", Scope: cur}},
		{"where did I live before Oslo?", q{Predicate: "location", Scope: hist}},
		{"who was my last employer?", q{Predicate: "employer", Scope: hist}},
		{"have I ever lived in Rome?", q{Predicate: "location", Value: "Rome", Scope: all}},
		{"is project Kiln done?", q{Predicate: "project_status", Subject: "kiln", Value: "done", Scope: cur}},
		{"do I have any trips coming up?", q{Predicate: "travel_plan", Scope: cur}},
		{"do I have any pets?", q{Predicate: "pet", Scope: cur}},
		{"what do I like doing in my free time?", q{Predicate: "hobby", Scope: cur}},

		{"What should I cook?", q{}},
		{"how old is the universe?", q{}},
		{"who am I talking to?", q{}},
		{"am I on mute?", q{}},
		{"what do I do now?", q{}},
		{"do I have time for lunch?", q{}},
		{"my dog died", q{}},
		{"Where does the river end?", q{}},
		{"How do I install PostgreSQL?", q{}},
		{"When did Gina launch an ad campaign for her store?", q{}},
		{"Where do you live?", q{}},
		{"thanks!", q{}},
		{"", q{}},
		{"我住在哪里？", q{}},
	}
	for _, tt := range tests {
		got, ok := intent.Infer(predicates.Default(), tt.query)
		if !ok {
			got = q{}
		}
		if got != tt.want || ok != (tt.want != q{}) {
			t.Errorf("Infer(%q) = %+v, %v; want %+v", tt.query, got, ok, tt.want)
		}
	}
}

func TestInferFollowsTheRegistry(t *testing.T) {
	only, err := predicates.Default().Only("employer")
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := intent.Infer(only, "Where do I live?"); ok {
		t.Errorf("a predicate outside the registry was inferred: %+v", got)
	}
	if _, ok := intent.Infer(only, "Where do I work?"); !ok {
		t.Error("no intent for a predicate of the registry")
	}
}

func TestRoute(t *testing.T) {
	tests := []struct {
		query string
		want  intent.Granularity
	}{
		{"exact words Ann and Bob used about the deposit in May and June", intent.Dual},
		{"summarise my year", intent.Summaries},
		{"Overall, how was the move?", intent.Summaries},
		{"my dentist's name?", intent.Facts},
		{"what did she say about the leak", intent.Episodes},
		{"Quote what Ben said word for word", intent.Episodes},
		{"Which database do I prefer?", intent.Facts},
		{"", intent.Facts},
	}
	for _, tt := range tests {
		if got := intent.Route(tt.query); got != tt.want {
			t.Errorf("Route(%q) = %s, want %s", tt.query, got, tt.want)
		}
	}
}

func FuzzInfer(f *testing.F) {
	for _, s := range []string{"Where do I live?", "Gina's job", "{value}", "’s", "i", "what be"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		q, ok := intent.Infer(predicates.Default(), query)
		if ok && q.Predicate == "" {
			t.Error("an intent without a predicate")
		}
		intent.Route(query)
	})
}
