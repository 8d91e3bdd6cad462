import { Fragment } from 'react';
import { Link } from 'wouter';
import { taskPath } from '../../components/links.js';
import { visibleText } from '../../components/untrusted-text.js';
import type { FeatureMatrix, MatrixCell } from './matrix.js';

interface Props {
  readonly matrix: FeatureMatrix;
  readonly chosen: string | null;
  readonly onChoose: (feature: string) => void;
}

/** A row per feature, a column per edge. A cell leads to the edge's page. */
export const FeatureTable = ({ matrix, chosen, onChoose }: Props) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
  <section className="table-scroll" tabIndex={0} aria-label="Features by edge">
    <table className="features-matrix">
      <thead>
        <tr>
          <th scope="col">Feature</th>
          {matrix.columns.map(({ edge, stage }) => (
            <th key={edge} scope="col" title={edge}>
              <StageName name={visibleText(stage)} />
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {matrix.rows.map(({ feature, cells }) => (
          <tr key={feature.feature_id} aria-current={feature.feature_id === chosen ? 'true' : undefined}>
            <th scope="row">
              <button type="button" className="features-name" onClick={() => onChoose(feature.feature_id)}>
                {visibleText(feature.feature_id)}
              </button>
              <span className="quiet">{visibleText(feature.title)}</span>
            </th>
            {cells.map((cell, index) => (
              <td key={matrix.columns[index]?.edge}>
                {cell === null ? (
                  <span className="quiet" title="Not in this feature’s profile">
                    –
                  </span>
                ) : (
                  <EdgeCell feature={feature.feature_id} cell={cell} />
                )}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </section>
);

/** The name of a stage, which may break between its words, so that all columns fit into the window. */
const StageName = ({ name }: { name: string }) =>
  name.split(/(?<=[_↔])/).map((word, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the words of a name do not change
    <Fragment key={index}>
      {word}
      <wbr />
    </Fragment>
  ));

function EdgeCell({ feature, cell }: { feature: string; cell: MatrixCell }) {
  const { edge, word, tone, hint, agents, isOptional, isNext } = cell;
  return (
    <>
      <Link
        href={taskPath(`${feature}#${edge}`)}
        className={`mark mark-${tone}${isNext ? ' features-next' : ''}`}
        title={visibleText(`${edge}: ${hint}`)}
        aria-label={visibleText(`${feature} ${edge}: ${word}`)}
      >
        {word}
      </Link>
      {isNext ? <span className="quiet"> next</span> : null}
      {isOptional ? <span className="quiet"> optional</span> : null}
      {agents.map((agent) => (
        <span key={agent} className="features-holder">
          {visibleText(agent)}
        </span>
      ))}
    </>
  );
}
