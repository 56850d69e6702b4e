# The digest decides which image this is, and the tag tells people: both change with the version of Go in go.mod.
FROM golang:1.26.8-bookworm@sha256:a688600ca24f8a4d3ca77f95b0dd40704a9fc787c826660eb7ba0b641b8b175d AS build
WORKDIR /src
COPY go.mod go.sum ./
COPY tools/go.mod tools/go.sum tools/
RUN go mod download
COPY *.go ./
COPY apis apis
COPY controllers controllers
COPY config/drift config/drift
COPY internal internal
COPY webhooks webhooks
# The repository is not in the image, so the version is named: it is what "daytwo version" tells.
ARG VERSION
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X github.com/daytwo-dev/daytwo/internal/version.linked=${VERSION}" -o /daytwo .

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /daytwo /daytwo
USER 65532:65532
ENTRYPOINT ["/daytwo"]
