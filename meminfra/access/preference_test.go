package access_test

import (
	"testing"

	"github.com/meminfra/memory-layer/meminfra/access"
)

// papers.md section 9, T4.
func TestStatesPreference(t *testing.T) {
	for _, text := range []string{
		"I always fly aisle", "I always fly aisle.", "I ALWAYS fly aisle", "You know, I never take the window seat.",
		"I prefer PostgreSQL.", "I'd rather walk", "I’d rather walk", "I don't like cilantro", "I really do not like it",
		"My favourite editor is Vim", "my all-time favorite band is Low", "I'm a big fan of Go", "I can't stand noise",
		"I am interested in quail", "I'm into climbing", "I want to learn Rust", "I usually work from home",
		"Ich fliege immer am Gang.", "Ich mag keinen Koriander", "Meine Lieblingsfarbe ist Blau.", "J'aime le thé.", "Je préfère PostgreSQL",
		"Me gusta el té.", "Prefiero PostgreSQL.", "お茶が好きです。", "我喜欢茶。",
	} {
		if !access.StatesPreference(text) {
			t.Errorf("%q is no preference", text)
		}
	}
	for _, text := range []string{
		"", "I live in Lisbon.", "Project Apollo is delayed.", "The build always runs on Mondays.", "We ship on Fridays.",
		"Bo prefers tea.", "I work at Acme. The team likes tea.", "It looks like rain", "my sister is Mia", "Ich wohne in Berlin.", "J'habite à Lyon.", "Vivo en Madrid.", "東京に住んでいます。",
		"I moved the file yesterday and it was what they all wanted",
	} {
		if access.StatesPreference(text) {
			t.Errorf("%q is a preference", text)
		}
	}
}
