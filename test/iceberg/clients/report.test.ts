import { expect, test } from 'vitest'
import { readReport } from './report.ts'

test('a report of JUnit tells what passed, what failed with its message and line, and what was left out', () => {
  const xml = `<?xml version='1.0' encoding='UTF-8'?>
<testsuite name="JUnit Jupiter" tests="5" skipped="2" failures="1" errors="1" time="95.909">
<properties><property name="x" value="&lt;testcase name=&quot;no&quot;/&gt;"/></properties>
<testcase name="passes()" classname="a.B" time="0.1"/>
<testcase name="alsoPasses(String)[1]" classname="a.B" time="0.1">
<system-out>display-name: a &gt; b failure</system-out>
</testcase>
<testcase name="fails()" classname="a.B" time="0.1">
<failure message="x > y" type="java.lang.AssertionError"><![CDATA[java.lang.AssertionError: 
Expecting <1> & "2"
\tat org.apache.iceberg.catalog.CatalogTests.fails(CatalogTests.java:3240)
\tat java.base/java.util.ArrayList.forEach(ArrayList.java:1511)
]]></failure>
</testcase>
<testcase name="breaks()" classname="a.B" time="0.1"><error type="E">E: it &#39;broke&#x27;</error></testcase>
<testcase name="isOff()" classname="a.B" time="0"><skipped><![CDATA[not here]]></skipped></testcase>
</testsuite>`
  expect(() => readReport(xml)).not.toThrow()
  expect(readReport(xml)).toEqual({
    tests: 5,
    passed: ['passes', 'alsoPasses(String)[1]'],
    failed: [
      {
        name: 'fails',
        message: 'java.lang.AssertionError: \nExpecting <1> & "2"',
        line: 'CatalogTests.java:3240',
      },
      { name: 'breaks', message: "E: it 'broke'", line: undefined },
    ],
    aborted: [{ name: 'isOff', message: 'not here', line: undefined }],
  })
})

test('a report that was cut off is none', () => {
  const cut = '<testsuite tests="2"><testcase name="one()"/><testcase name="two()"><fail'
  expect(() => readReport(cut)).toThrow('The report tells of 2 tests, and has 1')
})
