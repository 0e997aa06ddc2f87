import { connect } from 'tabularium-client'
import { sign } from './guests.js'

/* A program for Node, Deno and Bun: it takes the URL of a catalog, and a name. */

const [url, name] = process.argv.slice(2)
console.log((await sign(connect(url), name)).join(' '))
