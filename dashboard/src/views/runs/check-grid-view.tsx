import { useMemo } from 'react';
import type { RunDetails } from '../../../../src/core/contract/runs.js';
import { ForeignText, visibleText } from '../../components/foreign-text.js';
import { ScrollRegion } from '../../components/scroll-region.js';
import { type CheckGridCell, checkGrid } from './check-grid.js';

/** The checks of each iteration. */
export function CheckGridView({ run }: { run: RunDetails }) {
  const { iterations, rows, deltas } = useMemo(() => checkGrid(run), [run]);
  return (
    <section className="card" aria-label="Checks by iteration">
      <h2>Checks by iteration</h2>
      {rows.length === 0 ? (
        <p className="quiet">No check has been run yet.</p>
      ) : (
        <ScrollRegion className="table-scroll" name="Results of the checks">
          <table className="check-grid">
            <thead>
              <tr>
                <th scope="col">Check</th>
                {iterations.map((iteration) => (
                  <th key={iteration} scope="col">
                    {iteration}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map(({ check, kind, cells }) => (
                <tr key={`${kind} ${check}`}>
                  <th scope="row">
                    <ForeignText text={check} /> <span className="quiet">by a {kind}</span>
                  </th>
                  {iterations.map((iteration, column) => (
                    <td key={iteration}>
                      <Cell cell={cells[column] ?? null} />
                    </td>
                  ))}
                </tr>
              ))}
              <tr>
                <th scope="row">
                  delta <span className="quiet">required checks left</span>
                </th>
                {iterations.map((iteration, column) => (
                  <td key={iteration}>{deltas[column] ?? '–'}</td>
                ))}
              </tr>
            </tbody>
          </table>
        </ScrollRegion>
      )}
    </section>
  );
}

const Cell = ({ cell }: { cell: CheckGridCell | null }) =>
  cell === null ? (
    <span className="quiet">–</span>
  ) : (
    <span className={`mark ${cell.tone}`} title={visibleText(cell.message)}>
      {visibleText(cell.word)}
    </span>
  );
