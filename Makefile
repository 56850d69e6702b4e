# The targets that a person uses; `make help` lists them.
SHELL := /usr/bin/env bash -o pipefail
.SHELLFLAGS := -ec
.DEFAULT_GOAL := help

# Paths are relative: make takes a space in a path for the end of it. What is run in another directory gets $$PWD.
BIN := bin
LOCAL := $(BIN)/local --state-dir .daytwo
CLUSTERS ?= 3
IMG ?= daytwo:latest
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)

# Tools have modules of their own, so that the manager's holds what it imports and no more.
CONTROLLER_GEN := go tool -modfile=tools/generate/go.mod controller-gen
GOLANGCI_LINT := $(BIN)/golangci-lint
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0

##@ General

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*##"} /^[a-zA-Z_-]+:.*?##/ {printf "  \033[36m%-14s\033[0m %s\n", $$1, $$2} /^##@/ {printf "\n\033[1m%s\033[0m\n", substr($$0, 5)}' $(MAKEFILE_LIST)

.PHONY: demo
demo: build ## Show the whole story on this machine, with its timings, and stop: KEEP=1 to leave the fleet running.
	go run ./e2e/demo --manager $(BIN)/daytwo $(if $(KEEP),--keep)

##@ Development

.PHONY: generate
generate: ## Generate deepcopy functions, the tables of built-in kinds, and what the local provider needs.
	$(CONTROLLER_GEN) object paths=./apis/...
	go run -C tools ./builtinkinds
	go generate -C tools ./local/provider/api/...

.PHONY: manifests
manifests: ## Generate CRDs and RBAC from the markers in the code.
	$(CONTROLLER_GEN) crd paths=./apis/... output:crd:dir=config/crd/bases
	$(CONTROLLER_GEN) rbac:roleName=daytwo-manager paths=./controllers/... paths=./webhooks/... paths=./internal/... output:rbac:dir=config/rbac
	go run -C tools ./secretsrole --role ../config/rbac/role.yaml --narrow ../config/narrow

.PHONY: fmt
fmt: ## Format the code.
	gofmt -w $$(git ls-files '*.go')

.PHONY: lint
lint: $(GOLANGCI_LINT) generate manifests ## Lint, and check that generated files are up to date.
	$(GOLANGCI_LINT) run ./...
	cd tools && ../$(GOLANGCI_LINT) run --config ../.golangci.yml ./...
	@if [ -n "$$CI" ]; then git diff --exit-code -- apis config controllers tools || { echo 'generated files are out of date: run make generate manifests, and commit'; exit 1; }; fi

.PHONY: dependencies
dependencies: ## Verify the modules that go.sum names, list their licenses, and look for known vulnerabilities.
	go mod verify
	cd tools && go mod verify
	go run -C tools ./licenses --module .. --list ../LICENSES
	@if [ -n "$$CI" ]; then git diff --exit-code -- LICENSES || { echo 'LICENSES is out of date: run make dependencies, and commit'; exit 1; }; fi
	@if curl --silent --fail --max-time 10 --output /dev/null https://vuln.go.dev/index/db.json; then go run $(GOVULNCHECK) ./...; \
		else echo 'govulncheck was not run: its database, https://vuln.go.dev, cannot be reached'; fi

.PHONY: test
test: $(BIN)/local ## Run every test. The first run downloads or builds Kubernetes, which may take half an hour.
	$(BIN)/local build
	go build -o $(BIN)/daytwo .
	@# The local fleet's own tests wait more than they work, and so run beside the others. The longest come first, so
	@# that none of them is left over at the end.
	@# As many packages run at once as there are processors: with one more, servers miss deadlines.
	@# On a busy machine a package may take longer than the ten minutes that go test allows. make lint vets.
	go test -C tools -vet=off -timeout 60m ./... & tools=$$!; status=0; \
		DAYTWO_MANAGER="$$PWD/$(BIN)/daytwo" go test -vet=off -timeout 60m ./e2e ./e2e/order ./controllers ./e2e/backup ./controllers/addonrelease ./controllers/tenantcluster ./controllers/backupenrollment ./... || status=1; \
		wait $$tools || status=1; exit $$status

.PHONY: crashes
crashes: $(BIN)/local ## End the manager after each of its writes; make test does so after every second or third.
	$(BIN)/local build
	go test ./controllers -run 'TestKilled' -count=1 -timeout 60m -all-kills

.PHONY: faults
faults: $(BIN)/local ## Inject faults between the manager and its clusters; writes docs/reliability.md.
	$(BIN)/local build
	mkdir -p docs
	go test ./e2e -run 'TestFaults.*ChangeNoEndState' -count=1 -timeout 60m -v -all-faults -fault-table "$$PWD/docs/reliability.md"

ROUNDS ?= 10

.PHONY: soak
soak: $(BIN)/local ## Run the tests of faults, kills and local fleets ROUNDS times (10) beside busy processors; takes hours.
	$(BIN)/local build
	go build -o $(BIN)/daytwo .
	@for _ in $$(seq $$(nproc)); do (while :; do :; done) & loops="$$loops $$!"; done; trap "kill $$loops" EXIT; \
		for round in $$(seq $(ROUNDS)); do echo "round $$round"; \
			DAYTWO_MANAGER="$$PWD/$(BIN)/daytwo" go test ./e2e -run 'TestFaults.*ChangeNoEndState|TestAnUnreachableClusterIsAbandonedOnRequest' -count=1 -timeout 60m && \
			go test ./controllers -run TestKilledInTheLifeOfAChart -count=1 -timeout 60m && \
			go test -C tools ./local/localfleet -run TestBareFleet -count=1 || exit 1; done

.PHONY: bench
bench: build ## Measure against bare loops; writes bench/results.json.
	go run ./e2e/bench --manager $(BIN)/daytwo --output bench/results.json

##@ Build

.PHONY: build
build: generate manifests $(BIN)/local ## Build the manager.
	go build -o $(BIN)/daytwo .

.PHONY: run
run: build ## Run the manager against the cluster of the current kubeconfig.
	$(BIN)/daytwo --leader-election=off

.PHONY: docker-build
docker-build: ## Build the image of the manager.
	docker build -t $(IMG) --build-arg VERSION=$(VERSION) .

##@ Local fleet

.PHONY: local-up
local-up: build ## Start a fleet of real API servers, and the manager: CLUSTERS=3, REGISTER=1 to register them.
	$(LOCAL) up --clusters $(CLUSTERS) --components capi,cert-manager \
		--apply config/manager/namespace.yaml --apply config/crd/bases --apply config/rbac --apply config/admission \
		--webhooks config/webhook/validating.yaml \
		--manager $(BIN)/daytwo --manager-arg --allow-private-sources --manager-arg --allow-private-storage $(if $(REGISTER),--register)

.PHONY: local-down
local-down: $(BIN)/local ## End the local fleet.
	$(LOCAL) down

##@ Deployment

.PHONY: install
install: manifests ## Install the CRDs into the cluster of the current kubeconfig.
	kubectl apply --server-side -k config/crd

.PHONY: uninstall
uninstall: ## Remove the CRDs, and with them every Daytwo object.
	kubectl delete --ignore-not-found -k config/crd

.PHONY: deploy
deploy: install ## Install the CRDs and deploy the manager, with the image IMG.
	kubectl kustomize config/default | sed 's|image: daytwo:latest|image: $(IMG)|' | kubectl apply --server-side -f -

.PHONY: undeploy
undeploy: ## Remove the manager, and leave the CRDs and what people wrote.
	kubectl delete --ignore-not-found -k config/default

# Built anew whenever go says so; both are cheap when nothing changed.
.PHONY: $(BIN)/local
$(BIN)/local:
	go build -C tools -o ../$@ ./local

$(GOLANGCI_LINT): tools/lint/go.mod tools/lint/go.sum tools/lint/main.go
	go build -C tools/lint -o ../../$@ .
