import { catalogTopics } from './catalog-suite.ts'
import { contentTopics } from './content-suite.ts'
import { httpTopics } from './http-suite.ts'
import { icebergTopics } from './iceberg-suite.ts'
import { storeTopics } from './store-suite.ts'
import type { Rule, Topic } from './suite.ts'
import { transactionTopics } from './transaction-suite.ts'

function rulesOf<Trial>(topics: readonly Topic<Trial>[]): Rule[] {
  return topics.flatMap(({ cases }) => cases.map(({ id, source, text }) => ({ id, source, text })))
}

/** All rules of the suites, in the order in which the suites check them. */
export const conformanceRules: readonly Rule[] = Object.freeze([
  ...rulesOf(storeTopics),
  ...rulesOf(contentTopics),
  ...rulesOf(catalogTopics),
  ...rulesOf(httpTopics),
  ...rulesOf(transactionTopics),
  ...rulesOf(icebergTopics),
])
