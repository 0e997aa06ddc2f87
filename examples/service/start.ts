import { randomBytes } from 'node:crypto'
import { openCatalog } from 'tabularium'
import { service } from './service.ts'

const { PORT = '3000', TOKEN = randomBytes(24).toString('base64url') } = process.env

const catalog = await openCatalog('./catalog')
const app = await service(catalog, TOKEN)
const url = await app.listen({ port: Number(PORT), host: '127.0.0.1' })
console.log(`The service listens on ${url}, with the catalog at ${url}/catalog. Its token: ${TOKEN}`)

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    await app.close()
    await catalog.close()
  })
}
