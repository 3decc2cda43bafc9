# Run `make` to see what there is.

GO          ?= go
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOLANGCI    ?= github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
FUZZTIME    ?= 10s
RACE        ?= -race -gcflags=modernc.org/sqlite/lib=-race=false # .ci/run says why

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: fmt
fmt: ## Format all Go files
	gofmt -l -w .

.PHONY: vet
vet: ## Run go vet and staticcheck
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...

.PHONY: lint
lint: ## Run all linters of .golangci.yml
	$(GO) run $(GOLANGCI) run ./...

.PHONY: test
test: ## Run all tests
	$(GO) test ./...

.PHONY: race
race: ## Run all tests with the race detector
	$(GO) test $(RACE) ./...

.PHONY: fuzz-short
fuzz-short: ## Run every fuzz target for FUZZTIME (10s)
	@$(GO) list ./... | while read -r pkg; do \
		$(GO) test -list '^Fuzz' "$$pkg" | grep '^Fuzz' | while read -r target; do \
			echo "$$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$pkg" || exit 1; \
		done || exit 1; \
	done

.PHONY: merge-errors
merge-errors: ## Report wrong and missed merges over testdata/merges.tsv
	$(GO) test ./meminfra -run MergeErrors -count=1 -v

.PHONY: extract-report
extract-report: ## Report precision and recall of the built-in extractor
	$(GO) test ./meminfra/extract/patterns -run Sentences -count=1 -v

.PHONY: bench
bench: ## Run all benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: bench-index
bench-index: ## Measure the index beside other libraries (LOCOMO_DATA=... for evidence recall)
	index/bench/run.sh

.PHONY: bench-search
bench-search: ## Measure searches end to end, warm and first, on both stores
	$(GO) test ./meminfra -run '^$$' -bench 'Search$$' -benchtime 1500x
	$(GO) test ./meminfra -run '^$$' -bench 'SearchFirst' -benchtime 5x

.PHONY: bench-partitions
bench-partitions: ## Measure a hot user among 100,000 beside one alone (ten minutes)
	PARTITIONS=100000 $(GO) test ./meminfra -run '^$$' -bench Partitions -benchtime 5000x -timeout 3h

.PHONY: bench-verify
bench-verify: ## Verify 1,000,000 ledger entries, and measure the ledger's share of an Add
	$(GO) test ./meminfra -run '^$$' -bench 'Verify$$' -benchtime 1x -timeout 1h
	$(GO) test ./meminfra -run '^$$' -bench 'LedgerShare' -benchtime 3x

.PHONY: test-index-big
test-index-big: ## Prove recall at 100,000 vectors
	INDEX_BIG=1 $(GO) test -run TestRecall -timeout 30m -v ./index/exact ./index/hnsw

.PHONY: soak-index
soak-index: ## Ten minutes of everything at once on the index
	INDEX_SOAK=10m $(GO) test -run TestSoak -timeout 20m -v ./index

.PHONY: crash
crash: ## Kill 200 processes on each store at random moments, and look what they left
	CRASHES=200 $(GO) test ./meminfra -run TestCrashes -timeout 60m -count=1 -v
	CRASHES=200 $(GO) test ./migrate -run TestKilledAnywhere -timeout 60m -count=1 -v

.PHONY: demo
demo: ## Run the demo
	$(GO) run ./cmd/meminfra demo

.PHONY: tune
tune: ## Fit the weights of the context signals on LOCOMO=path/locomo10.json
	$(GO) run ./cmd/meminfra eval tune --data "$(LOCOMO)"

.PHONY: build
build: ## Build the command as bin/meminfra
	$(GO) build -o bin/meminfra ./cmd/meminfra

.PHONY: ci
ci: ## Run what continuous integration runs
	.ci/run
