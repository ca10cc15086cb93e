// Prometheus' text format, written by hand: it is a page of code, and a client library would be a dependency in every process.

type Labels = Readonly<Record<string, string>>

/** The values of a family's labels, in the order in which it names them. Whole numbers may stand as they are. */
type LabelValues = readonly (string | number)[]

type Counter = {
  add(...labels: LabelValues): void
  /** By more than one, or by a part of one. */
  grow(by: number, ...labels: LabelValues): void
  /** Shows the series at nought: a series that begins with its first event hides that event from whoever looks for growth. */
  begin(...labels: LabelValues): void
}
type Histogram = { observe(value: number, ...labels: LabelValues): void }
/** A value that is read when somebody asks. */
export type Sample = { readonly labels: Labels; readonly value: number }
export type Gauge = {
  readonly name: string
  readonly help: string
  readonly samples: readonly Sample[]
  /** A counter that somebody else counts, the system for example. */
  readonly type?: 'gauge' | 'counter'
}

type Metrics = {
  counter(name: string, help: string, labels: readonly string[]): Counter
  histogram(name: string, help: string, labels: readonly string[], bounds: readonly number[]): Histogram
  /** Everything counted so far, and the gauges beside it. */
  print(gauges: readonly Gauge[]): string
}

/** Label values come from fixed lists; should one ever not, memory stays bounded all the same. */
const SERIES_MAX = 2_000

export function createMetrics(): Metrics {
  const families: (() => string)[] = []
  return {
    counter(name, help, labelNames) {
      const series = createSeries(labelNames, () => ({ value: 0 }))
      families.push(() =>
        family(
          name,
          help,
          'counter',
          series.all.map(({ labels, value }) => `${name}${printed(labels)} ${value}`),
        ),
      )
      return {
        add(...labels) {
          const one = series.at(labels)
          if (one) one.value++
        },
        grow(by, ...labels) {
          const one = series.at(labels)
          if (one) one.value += by
        },
        begin: (...labels) => void series.at(labels),
      }
    },
    histogram(name, help, labelNames, bounds) {
      const series = createSeries(labelNames, () => ({ counts: Array<number>(bounds.length + 1).fill(0), sum: 0 }))
      families.push(() =>
        family(
          name,
          help,
          'histogram',
          series.all.flatMap((one) => bucketsOf(name, bounds, one)),
        ),
      )
      return {
        observe(value, ...labels) {
          const one = series.at(labels)
          if (!one) return
          let bucket = 0
          while (bucket < bounds.length && value > bounds[bucket]!) bucket++
          one.counts[bucket]!++
          one.sum += value
        },
      }
    },
    print(gauges) {
      const printedGauges = gauges.map(({ name, help, samples, type = 'gauge' }) =>
        family(
          name,
          help,
          type,
          samples.map(({ labels, value }) => `${name}${printed(labels)} ${value}`),
        ),
      )
      return [...families.map((print) => print()), ...printedGauges].join('')
    },
  }
}

function family(name: string, help: string, type: string, lines: readonly string[]): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.map((line) => `${line}\n`).join('')}`
}

function bucketsOf(
  name: string,
  bounds: readonly number[],
  { labels, counts, sum }: { readonly labels: Labels; readonly counts: readonly number[]; readonly sum: number },
): readonly string[] {
  let total = 0
  const buckets = counts.map((count, index) => {
    total += count
    return `${name}_bucket${printed({ ...labels, le: bounds[index]?.toString() ?? '+Inf' })} ${total}`
  })
  return [...buckets, `${name}_sum${printed(labels)} ${sum}`, `${name}_count${printed(labels)} ${total}`]
}

type Series<One> = { readonly labels: Labels } & One
type Find<One> = (values: LabelValues) => Series<One> | null

/** The series of one family. Looked for with each request, so the way goes from value to value and makes no text of them. */
function createSeries<One>(names: readonly string[], fresh: () => One) {
  const all: Series<One>[] = []

  function finder(depth: number): Find<One> {
    if (depth === names.length) {
      let one: Series<One> | undefined
      return (values) => {
        if (one === undefined) {
          one = { labels: Object.fromEntries(names.map((name, i) => [name, String(values[i])])), ...fresh() }
          all.push(one)
        }
        return one
      }
    }
    const ways = new Map<LabelValues[number], Find<One>>()
    return (values) => {
      const value = values[depth]!
      let find = ways.get(value)
      if (find === undefined) {
        if (all.length >= SERIES_MAX) return null
        find = finder(depth + 1)
        ways.set(value, find)
      }
      return find(values)
    }
  }

  return { all, at: finder(0) }
}

function printed(labels: Labels): string {
  let pairs = ''
  for (const name in labels) pairs += `${pairs === '' ? '' : ','}${name}="${escaped(labels[name]!)}"`
  return pairs === '' ? '' : `{${pairs}}`
}

function escaped(value: string): string {
  if (!/[\\"\n]/.test(value)) return value
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
