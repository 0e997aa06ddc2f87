/* Transactions as a client without a library of ours has them: three requests, and a header on all others. */

/** A transaction that was begun over HTTP. */
export class HttpTransaction {
  readonly #url: string
  readonly id: string

  private constructor(url: string, id: string) {
    this.#url = url
    this.id = id
  }

  static async begin(url: string, body: object = {}): Promise<HttpTransaction> {
    const { transaction_id } = (await (await post(`${url}/v1/transaction/begin`, body)).json()) as {
      transaction_id: string
    }
    return new HttpTransaction(url, transaction_id)
  }

  /** What a request needs to belong to it. */
  get headers(): Record<string, string> {
    return { 'x-tabularium-transaction': this.id }
  }

  /** The status of the answer. */
  async commit(): Promise<number> {
    return (await post(`${this.#url}/v1/transaction/${this.id}/commit`)).status
  }

  async rollback(): Promise<number> {
    return (await post(`${this.#url}/v1/transaction/${this.id}/rollback`)).status
  }
}

function post(url: string, body: object = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}
