import type { CommandExecutor, Execution } from '../../engine/checks/command-executor.js';
import { COVERAGE_LAYERS, type CoverageLayer } from '../../workspace/scan/coverage.js';
import type { CommandContext } from '../context.js';
import { EXIT } from '../exit.js';
import { scanRequirements } from '../methodology/requirement-scan.js';
import { gapsText } from '../output/gaps.js';
import { unwrapReply } from '../replies.js';

/**
 * Runs the check `gen gaps --layer N` in this process, on the copy: a sandbox has neither this program nor the workspace.
 * It only reads files of the copy, and runs none of them. All other commands go to the executor.
 */
export const withGapsInProcess = (executor: CommandExecutor, context: CommandContext): CommandExecutor => ({
  is_sandboxed: executor.is_sandboxed,
  async execute(run) {
    const layer = gapsLayerOf(run.argv);
    return layer === null ? executor.execute(run) : runGaps(context, run.copy.folder, layer);
  },
});

/** Null if it is another command. */
function gapsLayerOf(argv: readonly string[]): CoverageLayer | null {
  const [, layer] = /^gen gaps --layer ([123])$/.exec(argv.join(' ')) ?? [];
  return COVERAGE_LAYERS.find((each) => String(each) === layer) ?? null;
}

async function runGaps(context: CommandContext, folder: string, layer: CoverageLayer): Promise<Execution> {
  const startMs = performance.now();
  const { methodology } = await context.genesis();
  const { coverage, gapsRequest } = await scanRequirements(folder, methodology, [layer]);
  const reply = unwrapReply(await methodology.gaps({ ...gapsRequest, dry_run: true }));
  const output = Buffer.from(`${gapsText(reply, coverage, context)}\n`);
  return {
    exit_code: reply.result === 'COMPLETE' ? EXIT.done : EXIT.refused,
    signal: null,
    stopped: null,
    spawn_error: null,
    duration_ms: performance.now() - startMs,
    output,
    output_total_bytes: output.byteLength,
    is_started: true,
    is_disk_full: false,
    is_process_limit_reached: false,
    report: null,
  };
}
