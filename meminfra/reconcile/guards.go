package reconcile

// Guards are the names under which a proposal of the manager was rewritten or
// refused. They stand on the decision and in the result. Unless said otherwise,
// what is refused leaves an ADD: the statement is kept, nothing stored changes.
const (
	GuardNoOperation      = "no_operation"      // the reply does not say what to do with the statement
	GuardUnknownOperation = "unknown_operation" // a word that is none of the four
	GuardMalformed        = "malformed"         // not of the form asked for, or with members nobody asked for
	GuardSeveral          = "several_operations"
	GuardMissingHandle    = "missing_handle"
	GuardUnknownHandle    = "unknown_handle"
	GuardIDForHandle      = "id_for_handle" // something like a stored id, which no model is shown
	GuardHandleUsed       = "handle_used"   // another statement of the same call has closed that memory

	GuardControlled    = "controlled_fact" // decided by the fold alone
	GuardOtherOwner    = "other_owner"
	GuardNotCurrent    = "not_current"
	GuardOtherSubject  = "other_subject"
	GuardOtherRelation = "other_relation"
	GuardWeaker        = "weaker_authority" // stays beside, the conflict is recorded
	GuardEventTime     = "event_time"       // told late: it becomes history, or changes nothing
	GuardOver          = "over_already"     // says nothing about the present

	GuardFigures  = "figures_differ" // a NOOP that would have swallowed a number, negation, name or period
	GuardValue    = "value_differs"
	GuardNotAlike = "not_alike"        // a NOOP of texts that hardly resemble each other
	GuardStronger = "stronger_witness" // a NOOP that becomes a SUPERSEDE: the same, from a stronger authority

	GuardDeleteAdd   = "delete_add"  // DELETE and ADD of what is alike: a SUPERSEDE that keeps both
	GuardBareDelete  = "bare_delete" // a DELETE by a new statement: a SUPERSEDE by it
	GuardNoNegation  = "no_negation" // a DELETE beside an ADD by a statement that denies nothing: refused
	GuardSameMeaning = "not_opposed" // a DELETE by a negation of what is itself a negation: refused

	GuardMergeAdds    = "merge_adds"   // the merged text has a number, name or negation of neither part
	GuardMergeDrops   = "merge_drops"  // it lacks one that it must keep
	GuardMergeStrays  = "merge_strays" // it says much that neither part says
	GuardMergeTooLong = "merge_too_long"
	GuardMergeOpposed = "merge_opposed" // an assertion and a negation are not merged
	GuardMergeWeakens = "merge_weakens" // the other part is of weaker authority: they stay side by side
)
