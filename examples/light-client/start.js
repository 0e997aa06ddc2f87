import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import Fastify from 'fastify'
import { openCatalog } from 'tabularium'
import { catalogPlugin } from 'tabularium/http'

/* Serves a catalog, the page and the client from one origin. */

const app = Fastify()
await app.register(catalogPlugin, { prefix: '/catalog', catalog: await openCatalog('memory:'), auth: false })

const own = ['page.html', 'page.js', 'worker.js', 'guests.js']
for (const name of own) serveFile(`/${name}`, new URL(name, import.meta.url))
const client = new URL('../', import.meta.resolve('tabularium-client'))
for (const name of readdirSync(fileURLToPath(client), { recursive: true })) {
  if (name.endsWith('.js'))
    serveFile(`/tabularium-client/${name.replaceAll('\\', '/')}`, new URL(name, client))
}

function serveFile(path, file) {
  const text = readFileSync(file, 'utf8')
  const type = path.endsWith('.html') ? 'text/html' : 'text/javascript'
  app.get(path, (_request, reply) => reply.type(type).send(text))
}

console.log(`${await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT ?? 2334) })}/page.html`)
