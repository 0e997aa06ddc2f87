// A worker has no import map, so it names the file.
import { connect } from '/tabularium-client/client/index.js'
import { sign } from './guests.js'

/* A worker of the page, beside the thread that draws it. */

postMessage(await sign(connect(new URL('/catalog', location.href)), 'worker'))
