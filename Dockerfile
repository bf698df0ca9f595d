# A static binary in an empty image: no shell, no libraries, no root.
#
#   docker build -t ucp-gateway .
#   docker run --rm --read-only -p 8080:8080 -v ucp-data:/data ucp-gateway

FROM rust:1.95-alpine AS build
# The database, the allocator and the cryptography are compiled from C; Alpine's target links everything statically.
# Alpine removes older versions of its packages, so that pinned ones cannot be installed for long.
# hadolint ignore=DL3018
RUN apk add --no-cache build-base ca-certificates cmake linux-headers perl
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --profile dist --locked -p ucp-gateway \
    && install -D target/dist/ucp-gateway /image/usr/local/bin/ucp-gateway \
    && install -D /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ca-certificates.crt \
    && install -d -o 65532 -g 65532 /image/data

FROM scratch
COPY --from=build /image /
USER 65532:65532
ENV UCP_GATEWAY_LISTEN=0.0.0.0:8080 \
    UCP_GATEWAY_DATA_DIR=/data
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --start-period=10s CMD ["/usr/local/bin/ucp-gateway", "healthcheck"]
ENTRYPOINT ["/usr/local/bin/ucp-gateway"]
CMD ["serve"]
