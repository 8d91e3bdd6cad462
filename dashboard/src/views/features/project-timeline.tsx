import { Link } from 'wouter';
import type { MethodologyStatus } from '../../../../src/core/contract/methodology-views.js';
import { taskPath } from '../../components/links.js';
import { TimeText } from '../../components/time-text.js';
import { visibleText } from '../../components/untrusted-text.js';
import { useServerClock } from '../../live/server-clock.js';
import { type ProjectBar, projectTime } from './project-time.js';

const WORDS = {
  '✓': ['converged', ''],
  '●': ['in progress', ' features-open'],
  '○': ['pending', ' features-open'],
  '✗': ['blocked', ' features-blocked'],
} as const;

/** When each edge of each feature was worked on. */
export function ProjectTimeline({ status }: { status: MethodologyStatus }) {
  const { from, rows } = projectTime(status.features, useServerClock());
  return (
    <section className="card" aria-label="Timeline of the project">
      <h2>Timeline</h2>
      {from === null ? (
        <p className="quiet">No edge has been started.</p>
      ) : (
        <>
          <ol className="features-gantt">
            {rows.map(({ feature, bars }) => (
              <li key={feature.feature_id}>
                <span>{visibleText(feature.feature_id)}</span>
                <span className="features-lane">
                  {bars.map((bar) => (
                    <EdgeBar key={bar.entry.edge} {...bar} />
                  ))}
                </span>
              </li>
            ))}
          </ol>
          <p className="features-scale quiet">
            <span>
              <TimeText at={from} />
            </span>
            <span>now</span>
          </p>
        </>
      )}
    </section>
  );
}

function EdgeBar({ entry: { feature_id, edge, stage, mark }, left, width }: ProjectBar) {
  const [word, tone] = WORDS[mark];
  return (
    <Link
      href={taskPath(`${feature_id}#${edge}`)}
      className={`features-span${tone}`}
      style={{ left: `${left * 100}%`, width: `${width * 100}%` }}
      title={visibleText(`${edge}: ${word}`)}
      aria-label={visibleText(`${feature_id} ${edge}: ${word}`)}
    >
      {visibleText(stage)}
    </Link>
  );
}
