import type { EdgePlan } from '../../core/engine/edge-plan.js';
import type { RunEnd, RunHost } from '../../engine/runs/execute-run.js';
import type { CommandContext } from '../context.js';
import { drawRun } from '../output/draw-run.js';
import { canRedraw } from '../output/run.js';
import { type DrawnRun, endDrawing, endStep, enterState, startedDrawing } from '../output/run-drawing.js';
import { markSequences } from '../output/sanitize.js';

type RunObserver = Pick<RunHost, 'onStart' | 'onState' | 'onStep'> & {
  /** Called once with the end of the run; null if the run was stopped or has thrown an error. */
  end(ended: RunEnd | null): void;
};

/** Shows a run: on a terminal the machine with its current state, redrawn in place; otherwise a line for each state. */
export const observeRun = (context: CommandContext, plan: EdgePlan): RunObserver =>
  canRedraw(context) ? drawnRun(context, plan) : listedRun(context);

const listedRun = (context: CommandContext): RunObserver => ({
  onStart: ({ run_id, generation }) => context.printNotice(`Run ${run_id}, generation ${generation}`),
  onState: (state, isReplayed) => context.printNotice(`  ${state}${isReplayed ? ' (replayed)' : ''}`),
  end: () => {},
});

// Without line wrap: a line with wide characters must stay one line, or the next frame would start too low.
const NO_WRAP = markSequences('\u001b[?7l');
const WRAP = markSequences('\u001b[?7h');

function drawnRun(context: CommandContext, plan: EdgePlan): RunObserver {
  const width = context.io.columns ?? 0;
  let drawn: DrawnRun | null = null;
  let lineCount = 0;
  const draw = (next: DrawnRun): void => {
    drawn = next;
    const lines = drawRun(next, width, context.paint);
    const moveToStart = lineCount === 0 ? '' : markSequences(`\u001b[${lineCount}A\u001b[0J`);
    context.io.stdout.write(`${moveToStart}${NO_WRAP}${lines.join('\n')}\n${WRAP}`);
    lineCount = lines.length;
  };
  const change = (apply: (run: DrawnRun) => DrawnRun): void => {
    if (drawn !== null) draw(apply(drawn));
  };
  const { feature_id, edge, max_iterations, checks } = plan;
  return {
    onStart: ({ machine, generation }) =>
      draw(startedDrawing({ subject: `${feature_id}#${edge}`, generation, max_iterations }, machine, checks)),
    onState: (state) => change((run) => enterState(run, state)),
    onStep: (step) => change((run) => endStep(run, step)),
    end: (ended) => {
      if (ended !== null) change((run) => endDrawing(run, ended.status === 'WAITING'));
    },
  };
}
