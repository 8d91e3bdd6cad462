import type { Reply } from '../../api/call.js';
import { Empty } from '../../components/states.js';
import { useFeatures } from '../features/use-features.js';
import { FeatureProgress } from './feature-progress.js';
import { Tracks } from './tracks-view.js';

/** Progress of the tracks of the plan and of the features, as far as the project has them. */
export function ProgressCards({ tracks }: { tracks: Reply<'status'>['tracks'] }) {
  // A project without a methodology has no features.
  const { data, isPending } = useFeatures();
  const features = data?.features ?? [];
  const hasTracks = Object.keys(tracks).length > 0;
  if (!hasTracks && features.length === 0) return isPending ? null : <NoWork />;
  return (
    <>
      {hasTracks ? (
        <section className="card" aria-labelledby="tracks">
          <h2 id="tracks">Tracks</h2>
          <Tracks tracks={tracks} />
        </section>
      ) : null}
      {features.length === 0 ? null : (
        <section className="card" aria-labelledby="features">
          <h2 id="features">Features</h2>
          <FeatureProgress features={features} />
        </section>
      )}
    </>
  );
}

const NoWork = () => (
  <section className="card">
    <Empty title="There is no work yet">
      <p>
        Import a plan: <code>gen plan import FILE</code>. Or make a workspace with features:{' '}
        <code>gen init</code>
      </p>
    </Empty>
  </section>
);
