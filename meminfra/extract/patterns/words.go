package patterns

// stopWords end a value.
var stopWords = set(`with for because since when while where which who whom that but so from although though however instead
	over rather more than anymore now right currently too as well lol haha btw if unless and or & n w w/ at in on to by
	cause cuz until till after before during every these nowadays still again also already then only just
	any twice once daily thrice weekly monthly
	i we you he she they it my your lately recently today yesterday tomorrow is are was were 's has have had
	though xd lmao please ok okay anyways anyway yeah yes`)

// notValues are words that no value begins with: what they refer to is not said.
var notValues = set(`no it this that these those them him her me us you something anything everything nothing someone anyone
	everyone here there what how why when where who whatever whether to not so such one ones mine yours his hers my your his our their its
	i we he she they myself yourself himself herself some any many much lots lot a-lot all both each either being doing having
	too very really more most less another other same both always never because if and or just like about out up down off
	away back later ok okay sure ready sorry still again done gone called named`)

// commonWords are lower-case words that follow "live in", "work at", "call me"
// and name no place, company or person.
var commonWords = set(`fear peace hope hell denial limbo squalor poverty sin harmony pain constant sync person bed town school
	work home bulk advance general particular theory practice debt love exile isolation luxury comfort misery darkness silence
	the a an later soon back now maybe when if crazy old anytime tomorrow tonight today first bus train car foot plane night
	nights noon midnight dawn weekends weekend times least last all large random once full part heart least ease speed scale
	being making it this that here there them him her you me us myself nothing something someone somebody everyone
	house flat apartment city village countryside suburbs area place building basement dorm dump mess bubble box van tent
	jail prison hospital heaven paradise style shape order color colour detail public private free freelance charity money fun
	peanuts mud food lunch dinner breakfast church college university court sea front camp uni decaf plan silent dark light
	later asap mom mum dad sir madam bro dude lazy stupid names dumb paranoid biased
	overtime shifts remote remotely abroad alone hard late early full-time part-time minimum maximum`)

// acronyms of schools: any other word in capitals could be anything.
var acronyms = set(`mit ucla eth epfl lse nyu usc kth ntnu tum ucl nus ntu iit kaist cmu ucsd ucsb uc caltech unsw anu ubc mcgill harvard
	stanford yale princeton oxford cambridge columbia cornell berkeley dartmouth sorbonne`)

// unplaces are written like names of places and are none that one lives in:
// programs, services and worlds of fiction.
var unplaces = set(`excel word powerpoint outlook gmail figma photoshop illustrator notion jira confluence trello slack teams zoom discord
	twitter facebook instagram tiktok reddit youtube netflix spotify chrome safari firefox terminal git github gitlab stackoverflow
	kubernetes docker salesforce sap autocad blender unity minecraft roblox fortnite skyrim hogwarts narnia neverland wonderland gotham
	wakanda westeros mordor hobbiton rivendell middle-earth tatooine azeroth hyrule oz asgard atlantis eden babylon utopia eternity limbo
	premium pro plus enterprise basic sales marketing finance hr it legal engineering management support operations product
	platinum gold silver act plan team class line gate level chapter phase stage step tier group row seat section page option version business
	heaven hell paradise mars venus jupiter pluto space cyberspace la-la lalaland fantasyland disneyland denial google meetings`)
