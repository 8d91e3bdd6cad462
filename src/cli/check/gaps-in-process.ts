import type { GapReport, GapsBody } from '../../core/contract/gaps.js';
import { findGaps, hasNoGaps } from '../../core/methodology/progress/gaps.js';
import type { CommandExecutor, Execution } from '../../engine/checks/command-executor.js';
import { COVERAGE_LAYERS, type CoverageLayer } from '../../workspace/scan/coverage.js';
import type { CommandContext } from '../context.js';
import { EXIT } from '../exit.js';
import { scanRequirements } from '../methodology/requirement-scan.js';

/**
 * Runs the check `gen gaps --layer N` in this process, on the copy of the project that is checked: a sandbox has neither this
 * program nor the workspace.
 * The check only reads files of the copy, and runs none of them. All other commands go to the executor.
 */
export const withGapsInProcess = (executor: CommandExecutor, context: CommandContext): CommandExecutor => ({
  is_sandboxed: executor.is_sandboxed,
  async execute(run) {
    const layer = gapsLayerOf(run.argv);
    return layer === null ? executor.execute(run) : runGaps(context, run.copy.folder, layer);
  },
});

/** The layer of a command `gen gaps --layer N`; null for any other command. */
function gapsLayerOf(argv: readonly string[]): CoverageLayer | null {
  const [, layer] = /^gen gaps --layer ([123])$/.exec(argv.join(' ')) ?? [];
  return COVERAGE_LAYERS.find((each) => String(each) === layer) ?? null;
}

async function runGaps(context: CommandContext, folder: string, layer: CoverageLayer): Promise<Execution> {
  const startMs = performance.now();
  const { methodology } = await context.genesis();
  const { gapsRequest } = await scanRequirements(folder, methodology, [layer]);
  // The gaps are found in this process, because the server refuses this call to the credential of a runner.
  const report = findGaps(gapsRequest);
  const output = Buffer.from(`${reportLines(report, gapsRequest).join('\n')}\n`);
  return {
    exit_code: hasNoGaps(report) ? EXIT.done : EXIT.refused,
    signal: null,
    stopped: null,
    spawn_error: null,
    duration_ms: Math.round(performance.now() - startMs),
    output,
    output_total_bytes: output.byteLength,
    is_started: true,
    is_disk_full: false,
    is_process_limit_reached: false,
    report: null,
  };
}

function reportLines(report: GapReport, { orphan_keys = [], untagged_files = 0 }: GapsBody): string[] {
  const { clusters, full_coverage, total_req_keys } = report;
  return [
    `${full_coverage} of ${total_req_keys} requirements are covered.`,
    ...clusters.map(({ keys, layers }) => `Without ${layers.join(', ')}: ${keys.join(', ')}`),
    ...(orphan_keys.length === 0 ? [] : [`Tags without a requirement: ${orphan_keys.join(', ')}`]),
    ...(untagged_files === 0 ? [] : [`Files without a tag: ${untagged_files}`]),
  ];
}
