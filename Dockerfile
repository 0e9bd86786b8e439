FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json tsconfig.json tsconfig.build.json ./
COPY src src
RUN npm ci --ignore-scripts && npm run build

FROM node:24-slim
ENV NODE_ENV=production HOST=0.0.0.0 METRICS_PORT=9464
WORKDIR /app
COPY package.json package-lock.json ./
COPY src/client/package.json src/client/
RUN npm ci --omit=dev --omit=optional --ignore-scripts && npm cache clean --force
COPY assets assets
COPY bin bin
COPY db db
COPY --from=build /app/dist dist
USER node
EXPOSE 8080
# A worker listens at METRICS_PORT alone.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "const { ROLE, PORT, METRICS_PORT } = process.env; fetch(`http://127.0.0.1:${(ROLE === 'worker' ? METRICS_PORT : PORT) || 8080}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# The options of `npm start`: garbage is collected seldom, and what is new in small steps.
CMD ["node", "--max-semi-space-size=8", "--heap-growing-percent=120", "--v8-pool-size=1", "bin/receiver.js", "start"]
