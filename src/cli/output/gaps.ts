import type { GapsReply } from '../../core/contract/gaps.js';
import type { Coverage, CoverageLayer, KeyCoverage } from '../../workspace/scan/coverage.js';
import type { TagKind } from '../../workspace/scan/tags.js';
import type { CommandContext } from '../context.js';
import type { Column } from './table.js';
import { countText, joinFirst, section } from './text.js';

const LAYER_COLUMNS: Readonly<Record<CoverageLayer, readonly [title: string, kind: TagKind]>> = {
  1: ['Code', 'implements'],
  2: ['Tests', 'validates'],
  3: ['Telemetry', 'telemetry'],
};
const WRITTEN_HINT =
  'Written to the log, with an intent for each group of gaps. To write nothing, pass --dry-run.';
const ROWS_MAX = 60;
const NAMES_MAX = 20;

const NO_REQUIREMENTS =
  'There are no requirements yet: no key in specification/, and no feature. Create one: gen spawn --type feature --id REQ-F-NAME-001 --reason "…"';

/** The totals, the requirements that lack something, tags and files without a requirement, and the decisions needed. */
export function gapsText(reply: GapsReply, coverage: Coverage, context: CommandContext): string {
  const { result, total_req_keys, full_coverage, partial_coverage, no_coverage, event_id, next } = reply;
  const { orphans, untagged_files } = coverage;
  const { paint, wrap } = context;
  if (total_req_keys === 0 && orphans.length === 0) return wrap(NO_REQUIREMENTS, 0).join('\n');
  const verdict = result === 'COMPLETE' ? paint.green(result) : paint.yellow(result);
  const countsText = `${full_coverage} covered, ${partial_coverage} partially, ${no_coverage} not covered`;
  const wrappedNames = (names: readonly string[]) =>
    names.length === 0 ? [] : wrap(joinFirst(names, NAMES_MAX), 2);
  const orphanTexts = orphans.map(({ key, places: [first] }) => `${key} (${first?.file}:${first?.line})`);
  const decisions = reply.clusters.flatMap(({ domain, severity, key_count, layers, intent_id }) => {
    const lacking = `${countText(key_count, 'requirement')} without ${layers.join(', ')}`;
    return wrap(`${severity} ${domain}: ${lacking} (${intent_id})`, 2);
  });
  return [
    `${verdict}  ${countText(total_req_keys, 'requirement')}: ${countsText}`,
    ...keyLines(coverage, context),
    ...section(
      paint.bold(`${countText(orphans.length, 'tag')} without a requirement`),
      wrappedNames(orphanTexts),
    ),
    ...section(
      paint.bold(`${countText(untagged_files.length, 'file')} without a tag`),
      wrappedNames(untagged_files),
    ),
    ...section(paint.bold('Decisions needed'), decisions),
    '',
    paint.dim(event_id === null ? 'Dry run: nothing was written.' : WRITTEN_HINT),
    ...(result === 'COMPLETE' ? [] : ['', ...wrap(`Do now: ${next}`, 0)]),
  ].join('\n');
}

function keyLines({ keys, layers }: Coverage, { paint, table }: CommandContext): string[] {
  const lacking = keys.filter(({ missing }) => missing.length > 0);
  if (lacking.length === 0) return [];
  const layerColumn = (layer: CoverageLayer): Column<KeyCoverage> => {
    const [title, kind] = LAYER_COLUMNS[layer];
    const coverageCell = ({ places }: KeyCoverage) =>
      places[kind].length === 0 ? '○' : `✓ ${places[kind].length}`;
    return {
      title: title,
      cell: coverageCell,
      paint: (text) => (text === '○' ? paint.yellow(text) : paint.green(text)),
    };
  };
  const columns = [{ title: 'Requirement', cell: ({ key }: KeyCoverage) => key }, ...layers.map(layerColumn)];
  const more = lacking.length > ROWS_MAX ? [`and ${lacking.length - ROWS_MAX} more: --json lists all`] : [];
  return ['', table(lacking.slice(0, ROWS_MAX), columns), ...more];
}
