package intent_test

import (
	"fmt"

	"github.com/meminfra/memory-layer/intent"
	"github.com/meminfra/memory-layer/predicates"
)

func ExampleInfer() {
	q, ok := intent.Infer(predicates.Default(), "Where did Gina work before?")
	fmt.Println(q.Predicate, q.Subject, q.Scope, ok)
	// Output: employer gina historical true
}
