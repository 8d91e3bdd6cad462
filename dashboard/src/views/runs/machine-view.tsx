import type { MachineStateName, ShownState, StateProgress } from './run-model.js';
import { stateDuration } from './run-texts.js';

const SIGNS: Readonly<Record<StateProgress, string>> = {
  'not reached': '○',
  running: '●',
  waiting: '●',
  completed: '✓',
  failed: '✗',
  stopped: '■',
};

/** The states from top to bottom. The run ends in one of the last two. */
export const MachineView = ({
  states,
  chosen,
  onChoose,
}: {
  states: readonly ShownState[];
  chosen: MachineStateName;
  onChoose: (name: MachineStateName) => void;
}) => (
  <ol className="machine" aria-label="States">
    {states.map((state) => (
      <li key={state.name} className={`machine-${state.name}`}>
        <button
          type="button"
          className={`machine-state progress-${state.progress.replace(' ', '-')}`}
          aria-pressed={state.name === chosen}
          aria-current={state.isCurrent ? 'step' : undefined}
          onClick={() => onChoose(state.name)}
        >
          <span aria-hidden="true">{SIGNS[state.progress]}</span>
          <span className="machine-name">{state.name}</span>
          <span className="machine-progress">{progressText(state)}</span>
        </button>
      </li>
    ))}
  </ol>
);

function progressText({ progress, steps }: ShownState): string {
  const took = stateDuration(steps);
  return took === null ? progress : `${progress}, ${took}`;
}
