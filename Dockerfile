FROM golang:1.26.8-bookworm AS build
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
RUN CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o /daytwo .

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /daytwo /daytwo
USER 65532:65532
ENTRYPOINT ["/daytwo"]
