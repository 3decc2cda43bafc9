package gate

import (
	"regexp"
	"strings"
)

// The words by which the gate reads, in English, German, French, Spanish, a little
// Italian, Portuguese and Dutch, and in scripts without spaces. A word that also
// means something harmless costs a question, one that is missing may cost all:
// so a sentence without any known word is not read at all. See isUnread.

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
var supposing = wordSet(`if unless whether suppose supposing supposed imagine imagining pretend pretending hypothetically theoretically
	would could should might shall perhaps maybe probably possibly wonder wondering wish wishes hope hopes hopefully dream dreamt dreamed
	when whenever once until till or either example instance sample placeholder dummy joke joking kidding fiction fictional story novel
	movie film game roleplay consider considering considered thinking think tempted undecided unsure doubt guess assume assuming presume
	presumably reckon provided providing planning intend intending approval permission consent confirm confirmation i'd we'd you'd he'd she'd they'd
	says saying tells wants asks writes claims claimed suggests suggested recommends recommended advises advised demands demanded
	insists insisted instructs instructed ordered proposes proposed warns warned thinks thought believes believed heard read quote quoted quotes
	quoting according allegedly apparently reportedly supposedly forwarded forwarding pasting pasted copied allegation mentions mentioned
	begs begged urges urging expects rumour rumor per idea
	wenn falls ob sagt sagte sagten soll sollte sollen könnte würde vielleicht angeblich eventuell möglicherweise angenommen meint meinte schreibt
	schrieb laut behauptet behauptete will dass oder
	si dit disait selon peut-être devrait pourrais pourrait imaginons supposons veut voudrait demande demandé pense croit écrit d'après prétend est-ce dois
	dice dijo según quizás quizá debería vez podría supongamos quiere pidió pide cree piensa escribió escribe afirma
	se secondo forse dovrebbe als indien misschien volgens`)

// toldOf are such words too, but in the user's own mouth.
var toldOf = wordSet("said told asked wrote wanted")

// mine are words before "me to" that leave it the user's own wish.
var mine = wordSet("let remind help allow for")

// What a question begins with: by itself, or before one who is asked about. And
// what it may end with.
var (
	askers     = wordSet("what which who whom whose where why how is are was were am has can had did does any")
	askersOf   = wordSet("do have will may")
	asked      = wordSet("i you we he she it they this that there one anyone somebody someone the my")
	introduced = wordSet("please so and but ok okay well then also hey hi hello")
	tags       = wordSet("right correct")
)

// takenBack are words behind a statement that take it back.
var takenBack = wordSet(`kidding joking joke jk nevermind scratch disregard ignore undo correction strike oops retract mistake meant
	scherz spaß witz quatsch plaisante plaisanterie blague broma scherzo`)

// referring are words by which a later sentence speaks of an earlier one.
var referring = wordSet("it that this these those so him her them das es dies ça cela eso esto")

// textual are words for texts and what is done with them, and playing for parts
// that are played: what follows them need not be the user's own word.
var (
	textual = wordSet(`letter text mail email e-mail message article paragraph passage sentence poem story script transcript screenshot document page website invoice
		translate translation summarise summarize summary proofread rewrite rephrase paraphrase scam phishing spam
		brief nachricht rechnung übersetze lettre courrier facture traduis carta mensaje correo factura traduce`)
	playing  = wordSet("pretend imagine roleplay role-play simulate character false untrue test")
	pointing = wordSet("is of at about check see read got received on")
)

// plain are common words of the languages above that are no sign of anything.
var plain = wordSet(`the my our your i we you me us it its is are was be been have has had do does did will can to for from at by with and of in on a an as that this
	please pay send transfer book use call set make take name change move now today tomorrow always only here there all new which who hi hello thanks thank
	der die das den dem des ein eine einen einem mein meine meinen meiner ich wir du sie mir uns ist sind war habe hat haben auf für mit und zu zum zur an am im von vom
	bitte heute morgen immer jetzt
	le la les un une des mon ma mes notre je nous tu vous est sont ai au aux du de pour avec et sur dans à s'il toujours maintenant
	el los las una mi mis nuestro yo es son está he al del para con y en por favor hoy siempre ahora
	il lo gli una mio mia io è sono ho per con e di da o meu minha um uma os as eu com por het een mijn ik zijn heb voor met en van op`)

// Of scripts without spaces, what is a sign wherever it stands. Sources of text are
// named in speakers.
var (
	unspacedDenials = strings.Fields("不 没 沒 未 別 别 勿 非 無 无 莫 ない ません やめ 禁止 中止 停止 な。 な！ 以前 昔 曾")
	unspacedDoubts  = strings.Fields(`もし たら れば なら かも たぶん 多分 おそらく でしょう だろう ですか ますか かな か。 か？ によると らしい と言 という べき
		吗 嗎 呢 吧 如果 要是 假如 可能 也许 也許 或许 或 说 說 据 據 觉得 覺得 应该 應該`)
)

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
