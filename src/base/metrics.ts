// Prometheus' text format, written by hand: it is a page of code, and a client library would be a dependency in every process.

export type Labels = Readonly<Record<string, string>>

export type Counter = { add(labels: Labels, by?: number): void }
export type Histogram = { observe(labels: Labels, value: number): void }
/** A value that is read when somebody asks. */
export type Sample = { readonly labels: Labels; readonly value: number }
export type Gauge = { readonly name: string; readonly help: string; readonly samples: readonly Sample[] }

export type Metrics = {
  counter(name: string, help: string): Counter
  histogram(name: string, help: string, bounds: readonly number[]): Histogram
  /** Everything counted so far, and the gauges beside it. */
  print(gauges: readonly Gauge[]): string
}

/** Label values come from fixed lists; should one ever not, memory stays bounded all the same. */
const SERIES_MAX = 2_000

export function createMetrics(): Metrics {
  const families: (() => string)[] = []
  return {
    counter(name, help) {
      const series = new Map<string, { readonly labels: Labels; value: number }>()
      families.push(() =>
        family(
          name,
          help,
          'counter',
          [...series.values()].map(({ labels, value }) => `${name}${printed(labels)} ${value}`),
        ),
      )
      return {
        add(labels, by = 1) {
          const key = keyOf(labels)
          const one = series.get(key)
          if (one) one.value += by
          else if (series.size < SERIES_MAX) series.set(key, { labels, value: by })
        },
      }
    },
    histogram(name, help, bounds) {
      const series = new Map<string, { readonly labels: Labels; readonly counts: number[]; sum: number }>()
      families.push(() =>
        family(
          name,
          help,
          'histogram',
          [...series.values()].flatMap((one) => bucketsOf(name, bounds, one)),
        ),
      )
      return {
        observe(labels, value) {
          const key = keyOf(labels)
          let one = series.get(key)
          if (!one) {
            if (series.size >= SERIES_MAX) return
            one = { labels, counts: Array<number>(bounds.length + 1).fill(0), sum: 0 }
            series.set(key, one)
          }
          const bucket = bounds.findIndex((bound) => value <= bound)
          one.counts[bucket === -1 ? bounds.length : bucket]!++
          one.sum += value
        },
      }
    },
    print(gauges) {
      const printedGauges = gauges.map(({ name, help, samples }) =>
        family(
          name,
          help,
          'gauge',
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

/** One family has the same labels everywhere, so their values tell series apart. Asked for each request; printed only when somebody reads. */
function keyOf(labels: Labels): string {
  let key = ''
  for (const name in labels) key += `${labels[name]}\n`
  return key
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
