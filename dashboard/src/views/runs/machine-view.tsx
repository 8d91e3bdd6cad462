import { failedCheckCount, type MachineStateName, type ShownState, type StateProgress } from './run-model.js';
import { stateCost, stateDuration } from './run-texts.js';

const SIGNS: Readonly<Record<StateProgress, string>> = {
  'not reached': '○',
  running: '●',
  waiting: '●',
  completed: '✓',
  failed: '✗',
  stopped: '■',
};

interface Choice {
  readonly chosen: MachineStateName;
  readonly onChoose: (name: MachineStateName) => void;
}

/** The states from top to bottom, with the states of an iteration in a loop. The last two are those that can end a run. */
export function MachineView({ states, ...choice }: { states: readonly ShownState[] } & Choice) {
  const statesOf = (part: ShownState['part']) => states.filter((state) => state.part === part);
  return (
    <ol className="machine" aria-label="States">
      {statesOf('before').map((state) => (
        <StateButton key={state.name} state={state} {...choice} />
      ))}
      <li className="machine-loop">
        <ol className="machine" aria-label="Repeated in each iteration">
          {statesOf('iteration').map((state) => (
            <StateButton key={state.name} state={state} {...choice} />
          ))}
        </ol>
        <span className="machine-back" title="Repeated until the required checks pass">
          next iteration
        </span>
      </li>
      {statesOf('end').map((state) => (
        <StateButton key={state.name} state={state} {...choice} />
      ))}
    </ol>
  );
}

const StateButton = ({ state, chosen, onChoose }: { state: ShownState } & Choice) => (
  <li className={`machine-${state.name}`}>
    <button
      type="button"
      className={classOf(state)}
      aria-pressed={state.name === chosen}
      aria-current={state.isCurrent ? 'step' : undefined}
      onClick={() => onChoose(state.name)}
    >
      <span aria-hidden="true">{SIGNS[state.progress]}</span>
      <span className="machine-name">{state.name}</span>
      <span className="machine-progress">{progressText(state)}</span>
    </button>
  </li>
);

const classOf = ({ progress, steps }: ShownState): string =>
  `machine-state progress-${progress.replace(' ', '-')}${failedCheckCount(steps) > 0 ? ' has-failed-checks' : ''}`;

function progressText({ progress, steps }: ShownState): string {
  const failedCount = failedCheckCount(steps);
  const checks =
    failedCount === 0 ? null : failedCount === 1 ? '1 check failed' : `${failedCount} checks failed`;
  return [progress, checks, stateDuration(steps), stateCost(steps)]
    .filter((text) => text !== null)
    .join(', ');
}
