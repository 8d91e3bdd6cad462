import { lazy, Suspense } from 'react';
import { Redirect, Route, Router, Switch } from 'wouter';
import { scope } from './api/scope.js';
import { Frame } from './components/frame.js';
import { useHashPath } from './components/hash-location.js';
import { Loading } from './components/states.js';
import { LiveProvider } from './live/live.js';
import { FleetView } from './views/fleet/fleet-view.js';
import { ProjectsView } from './views/projects/projects-view.js';

const PlanView = lazy(() => import('./views/plan/plan-view.js'));
const TaskPage = lazy(() => import('./views/task/task-page.js'));
const RunsView = lazy(() => import('./views/runs/runs-view.js'));
const RunPage = lazy(() => import('./views/runs/run-page.js'));
const InboxView = lazy(() => import('./views/inbox/inbox-view.js'));
const FeaturesView = lazy(() => import('./views/features/features-view.js'));
const LogView = lazy(() => import('./views/log/log-view.js'));

/** The address is the state of the page: a view can be linked to, and the back button works. */
export function App() {
  if (scope().project === '') return <ProjectsView />;
  return (
    <LiveProvider>
      <Router hook={useHashPath}>
        <Frame>
          <Suspense fallback={<Loading />}>
            <Switch>
              <Route path="/" component={FleetView} />
              <Route path="/plan" component={PlanView} />
              <Route path="/task/:id">{({ id }) => <TaskPage id={decodeURIComponent(id)} />}</Route>
              <Route path="/runs" component={RunsView} />
              <Route path="/runs/:id">{({ id }) => <RunPage id={id} />}</Route>
              <Route path="/inbox/:kind?">
                {({ kind }) => <InboxView {...(kind === undefined ? {} : { kind })} />}
              </Route>
              <Route path="/features" component={FeaturesView} />
              <Route path="/log" component={LogView} />
              <Route>
                <Redirect to="/" />
              </Route>
            </Switch>
          </Suspense>
        </Frame>
      </Router>
    </LiveProvider>
  );
}
