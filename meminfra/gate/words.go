package gate

import (
	"regexp"
	"strings"
)

// The words that deny, doubt and take back, in English, German, French, Spanish, a
// little Italian, Portuguese and Dutch, and in scripts without spaces. They need not be
// complete: a sentence passes by its form, see forms.go.

// against are words that deny like a "not" does, beside those of memory.IsNegation.
var against = wordSet(`stop stopped avoid refuse refused refuses forbid forbids forbidden prohibit prohibited ban banned block blocked
	against instead rather wrong incorrect mistaken mistake false untrue fake scam fraud fraudulent phishing suspicious cancel cancels cancelled
	canceled revoke revoked undo hate dislike outdated obsolete former formerly previous previously expired closed excluding exclude refrain
	decline declined deny denied beware skip remove removed delete deleted withhold lack lacks lacking dnt nope nah
	statt anstatt anstelle stattdessen außer ausser aufhören hör stoppe vermeide verboten verbiete verweigere weigere storniere stornieren falsch
	entferne lösche früher ehemalig
	rien arrête arrêtez arrêter cesse cessez lieu plutôt sauf évite évitez interdit faux refuse refusez annule annulez supprime avant
	deja dejar dejen lugar vez excepto salvo evita evite prohibido falso cancela elimina antes nadie nada
	smetti invece tranne falso pare deixe evite stop`)

// supposing are words that put what is said in another mouth or world.
var supposing = wordSet(`if unless whether when once until suppose imagine pretend perhaps maybe probably possibly wonder doubt guess assume hypothetically
	would could should might either or example instance sample placeholder dummy joke joking kidding fiction fictional story novel movie film game theory
	approval permission consent confirm confirmation okay go-ahead says say saying said tells told asks asked wants wanted writes wrote claims claimed quote quoted
	according allegedly apparently supposedly forwarded pasted copied provided providing assuming supposing
	wenn falls ob sagt sagte vielleicht angeblich laut schreibt si dit selon peut-être dice dijo según quizás quizá se forse oder`)

// takenBack are words behind a statement that take it back.
var takenBack = wordSet(`kidding joking joke jk nevermind scratch disregard ignore undo correction strike oops retract mistake meant yours regards sincerely
	scherz spaß witz quatsch plaisante plaisanterie blague broma scherzo`)

// referring are words by which a later sentence speaks of an earlier one.
var referring = wordSet("it that this these those so him her them das es dies ça cela eso esto")

// textual are words for texts and what is done with them, and playing for parts
// that are played: what follows them need not be the user's own word.
var (
	textual = wordSet(`letter text mail email e-mail message article paragraph passage sentence poem story script transcript screenshot document page website invoice
		translate translation summarise summarize summary proofread rewrite rephrase paraphrase scam phishing spam notice
		brief nachricht rechnung übersetze lettre courrier facture traduis carta mensaje correo factura traduce`)
	playing  = wordSet("pretend imagine roleplay role-play simulate character false untrue test")
	pointing = wordSet("is of at about check see read got received on")
)

// unspacedDenials deny wherever they stand, in scripts without spaces.
var unspacedDenials = strings.Fields("不 没 沒 未 別 别 勿 非 無 无 莫 ない ません やめ 禁止 中止 停止 な。 な！ 以前 昔 曾")

func hasAny(text string, marks []string) bool {
	for _, m := range marks {
		if strings.Contains(text, m) {
			return true
		}
	}
	return false
}

// Marks of text that somebody else wrote and the user put in: the name of who
// speaks before a colon, a tag, the lead of a quoted line, a cut.
var (
	speakers = regexp.MustCompile(`(?im)^\W*((tool|assistant|system|bot|ai|agent|from|subject|document|function|result|output|response|reply|human|user|website|page|e-?mail|mail|message|transcript|log|quote|source|` +
		`von|betreff|nachricht|de|objet|asunto|oggetto|assunto)s?\b|件名|差出人|送信者|发件人|發件人|主题|主題)[^\n:：]{0,60}[:：]`)
	reports = regexp.MustCompile(`(?i)\b(says?|said|writes?|wrote|told|output|following|below|forwarded|fwd|wg|tr|rv|pasted|copied|transcript|quoted?|original|e-?mails?|mails?|website|page|repl(y|ied)|respon(se|ded)|results?|returned|according|` +
		`schrieb|sagte?|gesagt|weitergeleitete?|folgende[srn]?|écrit|dit|transféré|escribió|dijo|reenviado|scrive|ha scritto|escreveu)\b[^\n]*[:：]\s`)
	marks = regexp.MustCompile(`</?[a-zA-Z_][^<>@\n]*>|(?m)^\s*[>|]|^[-=_*]{3,}`)
	named = regexp.MustCompile(`^[\W\d_]*(\p{L}[\w’'-]*)(\s[\w’'-]+){0,2}:\s`)
	own   = wordSet("my our the please new note reminder iban account number card address")
)
