package predicates

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// doseUnits are the spellings of units, by the one shown.
var doseUnits = map[string]string{
	"mg": "mg", "mgs": "mg", "milligram": "mg", "milligrams": "mg", "mcg": "mcg", "µg": "mcg", "μg": "mcg", "microgram": "mcg", "micrograms": "mcg",
	"g": "g", "gram": "g", "grams": "g", "ml": "ml", "millilitre": "ml", "millilitres": "ml", "milliliter": "ml", "milliliters": "ml",
	"iu": "IU", "unit": "units", "units": "units", "pill": "pills", "pills": "pills", "tablet": "tablets", "tablets": "tablets",
	"capsule": "capsules", "capsules": "capsules", "drop": "drops", "drops": "drops", "puff": "puffs", "puffs": "puffs",
}

// doseWords may stand between a dose and the drug: "50 mg tablets of".
var doseWords = []string{"of", "daily", "dose", "pill", "pills", "tablet", "tablets", "capsule", "capsules"}

// amountShape is a number, with a unit if it is written on to it: "2", "0.5", "20mg".
var amountShape = regexp.MustCompile(`^(\d|\d[\d.,/-]{0,10}\d)(\pL*)$`)

var (
	thousands    = regexp.MustCompile(`^(\d{1,3}),(\d{3})$`)
	decimalComma = regexp.MustCompile(`^(\d+),(\d{1,2})$`)
)

// Dose reads an amount at the front of the words ("50 mg of", "20mg", "two
// pills", "2"). It returns the amount as it is shown, with a space before its
// unit, and how many words it takes, 0 for none.
func Dose(words []string) (amount string, n int) {
	if len(words) == 0 {
		return "", 0
	}
	number, unit, ok := amountWord(strings.ToLower(words[0]))
	if !ok {
		return "", 0
	}
	n = 1
	if unit == "" && len(words) > 1 {
		if unit = doseUnits[strings.ToLower(words[1])]; unit != "" {
			n++
		}
	}
	for n < len(words) && slices.Contains(doseWords, strings.ToLower(words[n])) {
		n++
	}
	return strings.TrimSpace(number + " " + unit), n
}

func amountWord(w string) (number, unit string, ok bool) {
	if count, spelt := smallNumbers[w]; spelt {
		return strconv.Itoa(count), "", true
	}
	m := amountShape.FindStringSubmatch(w)
	if m == nil {
		return "", "", false
	}
	number = decimalComma.ReplaceAllString(thousands.ReplaceAllString(m[1], "$1$2"), "$1.$2")
	if f, err := strconv.ParseFloat(number, 64); err == nil {
		number = strconv.FormatFloat(f, 'f', -1, 64)
	}
	unit = doseUnits[m[2]]
	return number, unit, unit != "" || m[2] == "" // not "2nd"
}

// dosed writes "50mg Zoloft" and "Zoloft 50 mg" as "50 mg of sertraline", "two
// Advil" as "2 ibuprofen". A value without a dose stays as it is.
func (r *Registry) dosed(i int, s string) string {
	words := strings.Fields(s)
	amount, n := Dose(words)
	drug := words[n:]
	for k := 1; n == 0 && k < len(words); k++ { // behind the drug, where a bare number is none
		if a, m := Dose(words[k:]); k+m == len(words) && strings.Contains(a, " ") {
			amount, n, drug = a, m, words[:k]
		}
	}
	name := display(strings.Join(drug, " "))
	if n == 0 || name == "" {
		return s
	}
	term, known := r.terms[i][identity(name)]
	if known {
		name = term
	}
	if strings.Contains(amount, " ") {
		return amount + " of " + name
	}
	if known {
		return amount + " " + name
	}
	return s // "5 HTP"
}
