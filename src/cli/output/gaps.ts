import type { GapsReply } from '../../coordinator/methodology/wire.js';
import type { Coverage, CoverageLayer, KeyCoverage } from '../../workspace/scan/coverage.js';
import type { TagKind } from '../../workspace/scan/tags.js';
import type { CommandContext } from '../context.js';
import { type Column, table } from './table.js';
import { countText } from './text.js';
import { wrapLines } from './wrap.js';

const LAYER_COLUMNS: Readonly<Record<CoverageLayer, readonly [head: string, kind: TagKind]>> = {
  1: ['Code', 'implements'],
  2: ['Tests', 'validates'],
  3: ['Telemetry', 'telemetry'],
};
const WRITTEN_HINT =
  'This is in the log now, with an intent for each thing to decide on. --dry-run only looks.';
const ROWS_MAX = 60;
const NAMES_MAX = 20;

const NO_REQUIREMENTS =
  'Nothing is demanded yet: no key in specification/, and no feature. Begin one: gen spawn --type feature --id REQ-F-NAME-001 --reason "…"';

/** The coverage of each requirement, then tags and files that belong to no requirement. */
export function gapsText(reply: GapsReply, coverage: Coverage, context: CommandContext): string {
  const { result, total_req_keys, full_coverage, partial_coverage, no_coverage, event_id, next } = reply;
  const { paint } = context;
  if (total_req_keys === 0 && coverage.orphans.length === 0) {
    return wrapLines(NO_REQUIREMENTS, 0, context.io.columns).join('\n');
  }
  const verdict = result === 'COMPLETE' ? paint.green(result) : paint.yellow(result);
  const counted = `${full_coverage} whole, ${partial_coverage} in part, ${no_coverage} not at all`;
  const lines = [`${verdict}  ${countText(total_req_keys, 'requirement')}: ${counted}`];
  lines.push(
    ...keyLines(coverage, context),
    ...orphanLines(coverage, context),
    ...clusterLines(reply, context),
  );
  lines.push('', paint.dim(event_id === null ? 'A dry run: nothing was written down.' : WRITTEN_HINT));
  if (result !== 'COMPLETE') lines.push('', ...wrapLines(`Do now: ${next}`, 0, context.io.columns));
  return lines.join('\n');
}

function keyLines({ keys, layers }: Coverage, { io, paint }: CommandContext): string[] {
  const lacking = keys.filter(({ missing }) => missing.length > 0);
  if (lacking.length === 0) return [];
  const layer = (at: CoverageLayer): Column<KeyCoverage> => {
    const [head, kind] = LAYER_COLUMNS[at];
    const cell = ({ places }: KeyCoverage) => (places[kind].length === 0 ? '○' : `✓ ${places[kind].length}`);
    return { head, cell, paint: (text) => (text === '○' ? paint.yellow(text) : paint.green(text)) };
  };
  const columns: Column<KeyCoverage>[] = [
    { head: 'Requirement', cell: ({ key }) => key },
    ...layers.map(layer),
  ];
  const shown = lacking.slice(0, ROWS_MAX);
  const more =
    lacking.length > ROWS_MAX ? [`and ${lacking.length - ROWS_MAX} more: --json has them all`] : [];
  return ['', table(shown, columns, io.columns), ...more];
}

function orphanLines({ orphans, untagged_files }: Coverage, { io, paint }: CommandContext): string[] {
  const lines: string[] = [];
  if (orphans.length > 0) {
    lines.push('', paint.bold(`${countText(orphans.length, 'key')} that nothing demands`));
    const labels = orphans.map(({ key, places: [first] }) => `${key} (${first?.file}:${first?.line})`);
    lines.push(...wrapLines(joinFirst(labels), 2, io.columns));
  }
  if (untagged_files.length > 0) {
    lines.push('', paint.bold(`${countText(untagged_files.length, 'file')} without a tag`));
    lines.push(...wrapLines(joinFirst(untagged_files), 2, io.columns));
  }
  return lines;
}

function clusterLines({ clusters }: GapsReply, { io, paint }: CommandContext): string[] {
  if (clusters.length === 0) return [];
  const lines = ['', paint.bold('To decide on')];
  for (const { domain, severity, key_count, layers, intent_id } of clusters) {
    const text = `${severity} ${domain}: ${countText(key_count, 'requirement')} without ${layers.join(', ')} (${intent_id})`;
    lines.push(...wrapLines(text, 2, io.columns));
  }
  return lines;
}

const joinFirst = (names: readonly string[]): string =>
  names.length <= NAMES_MAX
    ? names.join(', ')
    : `${names.slice(0, NAMES_MAX).join(', ')} and ${names.length - NAMES_MAX} more`;
