import { useMemo } from 'react';
import type { RunDetails } from '../../../../src/core/contract/runs.js';
import { useHashQuery } from '../../components/hash-location.js';
import { ScrollRegion } from '../../components/scroll-region.js';
import { UntrustedText, visibleText } from '../../components/untrusted-text.js';
import { type CheckGridCell, checkGrid } from './check-grid.js';
import type { MachineOutline } from './machine-outline.js';
import { stateOf, stepParts } from './run-model.js';

/** The checks of each iteration, and how many required checks had not passed. */
export function CheckGridView({ run, outline }: { run: RunDetails; outline: MachineOutline | null }) {
  const [, change] = useHashQuery();
  const { iterations, rows, deltas } = useMemo(() => checkGrid(run, outline?.checkSteps), [run, outline]);
  const chooseStep = (iteration: number, step: string) =>
    change({ iteration: String(iteration), state: stateOf(stepParts(step).handler) ?? '' });
  if (rows.length === 0)
    return (
      <section className="card" aria-label="Checks by iteration">
        <h2>Checks by iteration</h2>
        <p className="quiet">No check has been run yet.</p>
      </section>
    );
  return (
    <section className="card" aria-label="Checks by iteration">
      <h2>Checks by iteration</h2>
      <ScrollRegion className="table-scroll" name="Results of the checks">
        <table className="check-grid">
          <thead>
            <tr>
              <th scope="col">Check</th>
              {iterations.map((iteration) => (
                <th key={iteration} scope="col">
                  Iteration {iteration}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ step, check, kind, cells }) => (
              <tr key={step}>
                <th scope="row">
                  <UntrustedText text={check} /> <span className="quiet">by a {kind}</span>
                </th>
                {iterations.map((iteration, column) => (
                  <td key={iteration}>
                    <Cell cell={cells[column] ?? null} onOpen={() => chooseStep(iteration, step)} />
                  </td>
                ))}
              </tr>
            ))}
            <DeltaRow iterations={iterations} deltas={deltas} />
          </tbody>
        </table>
      </ScrollRegion>
    </section>
  );
}

const Cell = ({ cell, onOpen }: { cell: CheckGridCell | null; onOpen: () => void }) =>
  cell === null ? (
    <span className="quiet">–</span>
  ) : (
    <button
      type="button"
      className={`mark ${cell.tone}`}
      title={visibleText(cell.message) || 'Show this step'}
      onClick={onOpen}
    >
      {visibleText(cell.word)}
    </button>
  );

/** The deltas of the iterations, with bars that show whether the run approaches convergence. */
function DeltaRow({
  iterations,
  deltas,
}: {
  iterations: readonly number[];
  deltas: readonly (number | null)[];
}) {
  const highest = Math.max(1, ...deltas.map((delta) => delta ?? 0));
  return (
    <tr>
      <th scope="row">
        delta <span className="quiet">required checks left</span>
      </th>
      {iterations.map((iteration, column) => {
        const delta = deltas[column] ?? null;
        return (
          <td key={iteration}>
            {delta === null ? <span className="quiet">–</span> : delta}
            {delta === null ? null : (
              <span
                aria-hidden="true"
                className={delta === 0 ? 'delta-bar delta-none' : 'delta-bar'}
                style={{ width: `${Math.max(4, (delta / highest) * 100)}%` }}
              />
            )}
          </td>
        );
      })}
    </tr>
  );
}
