import { connect } from 'tabularium-client'
import { sign } from './guests.js'

/* A page without a bundler: the browser loads the modules of the client as they are. */

const catalog = connect(new URL('/catalog', location.href))
document.querySelector('#page').value = (await sign(catalog, 'page')).join(' ')

const worker = new Worker('worker.js', { type: 'module' })
worker.onmessage = ({ data }) => {
  document.querySelector('#worker').value = data.join(' ')
}
