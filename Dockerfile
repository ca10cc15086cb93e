# One image for everything: the shop, and every command of `sutler`. TypeScript runs as it is, so there is nothing to build.
#
#   docker build -t sutler .
#   docker run --rm -p 127.0.0.1:4020:4020 -e HOST=0.0.0.0 -v sutler:/data sutler      the sandbox, on this machine only
#
# Not Alpine: packages bring binaries for glibc. No RUN is root's, and no package runs a script of its own.
FROM node:24-slim AS packages
USER node
WORKDIR /home/node
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts
RUN mkdir data

FROM node:24-slim
WORKDIR /app
COPY --from=packages /home/node/node_modules ./node_modules
COPY package.json LICENSE ./
COPY bin ./bin
COPY src ./src
COPY web ./web
# The shop serves these, and prints its contracts with them.
COPY docs/answers.json docs/signing.md docs/signing-vectors.json ./docs/

# It writes nothing but the data folder, and that only without DATABASE_URL.
ENV NODE_ENV=production SUTLER_DATA_DIR=/data
COPY --from=packages --chown=node:node /home/node/data /data
USER node
VOLUME /data
EXPOSE 4020

# A process that answers is healthy. Whether it can sell is told by /health/ready, which is for load balancers: killing it would not help.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT ?? 4020}/health/live`).then(({ok}) => process.exit(ok ? 0 : 1), () => process.exit(1))"]

# Node is process 1 and gets SIGTERM itself: what was accepted is finished or handed over within 25 seconds.
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "bin/sutler.js"]
CMD ["start"]
