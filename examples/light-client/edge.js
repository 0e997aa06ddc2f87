import { connect } from 'tabularium-client'
import { sign } from './guests.js'

/* A worker of an edge runtime, such as workerd: each request writes the name that its path has. */

export default {
  async fetch(request, env) {
    const name = decodeURIComponent(new URL(request.url).pathname.slice(1))
    return Response.json(await sign(connect(env.CATALOG), name))
  },
}
