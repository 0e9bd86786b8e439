# The base is pinned, so that the same sources make the same image. The digest is that of node:24-slim with Node 24.19.0 for
# all platforms; `docker buildx imagetools inspect node:24-slim` prints the present one. Renew it for every release.
ARG NODE_IMAGE=docker.io/library/node:24-slim@sha256:cd84903a12dbd26b46f1f3b8144a2568c41c5d37ddd0c7a80a34c7a19786b35f

FROM ${NODE_IMAGE} AS build
WORKDIR /app
# Before the sources: a build after a change of these alone takes the dependencies from the cache.
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src src
RUN npm run build

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# With --omit, `npm sbom` also leaves out what development packages share with the others, such as pg.
RUN npm ci --omit=dev --omit=optional --ignore-scripts \
  && npm pkg delete devDependencies optionalDependencies && npm sbom --sbom-format=cyclonedx > sbom.cdx.json \
  && find node_modules \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.[cm]ts' \) -delete

FROM ${NODE_IMAGE}
ENV NODE_ENV=production HOST=0.0.0.0
WORKDIR /app
COPY --from=dependencies /app ./
COPY LICENSE ./
COPY assets assets
COPY bin bin
COPY db db
COPY --from=build /app/dist dist
USER 1000:1000
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["node", "bin/health.js"]
CMD ["sh", "bin/start.sh"]
# Last: another revision changes no layer.
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="webhook-receiver" \
  org.opencontainers.image.description="Receives a health platform's event callbacks, stores them durably, and applies each exactly once to PostgreSQL" \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}"
