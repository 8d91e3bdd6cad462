import { median, ratioOf, spreadText } from '../against/statistics.js';
import { integerText, table } from '../table.js';
import type { RunMeasurement } from './measurement.js';
import { databaseCpuUsPerJob, jobsPerSecond, type Series } from './series.js';

const HEAD = [
  ...['ours', 'job queue', 'its workload'],
  ...['jobs/s', 'its', 'ratio', 'spread'],
  ...['database CPU µs/job', 'its', 'ratio', 'spread'],
];

/**
 * Each of our workloads beside each workload of the job queues on the same database: the ratio of ours to theirs, formed
 * in each round. Null if there is no such pair.
 */
export function peersTable(series: readonly Series[]): string | null {
  const rows = series.flatMap((ours) => {
    const peers = series.filter(({ is_ours, store }) => !is_ours && store === ours.store);
    return ours.is_ours ? peers.map((peer) => [...labelCells(ours, peer), ...figureCells(ours, peer)]) : [];
  });
  return rows.length === 0 ? null : table(HEAD, rows, 3);
}

const labelCells = (ours: Series, peer: Series): string[] => [
  `${ours.store}: ${ours.workload}`,
  peer.system.replace(/,.*/, ''),
  peer.workload,
];

const figureCells = (ours: Series, peer: Series): string[] =>
  [jobsPerSecond, databaseCpuUsPerJob].flatMap((metric) => comparisonCells(ours, peer, metric));

function comparisonCells(ours: Series, peer: Series, metric: (run: RunMeasurement) => number): string[] {
  const [ourValues, peerValues] = [ours.measured.map(metric), peer.measured.map(metric)];
  const { ratio, lowest, highest } = ratioOf(peerValues, ourValues);
  return [
    integerText(median(ourValues)),
    integerText(median(peerValues)),
    ratio.toFixed(2),
    spreadText(lowest, highest),
  ];
}
