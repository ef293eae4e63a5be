// Whether policies allow calls, as decided by somebody else: cases come on stdin, answers go to stdout.
import { runSimulation } from "@cloud-copilot/iam-simulate";

const { account, statements, calls } = JSON.parse(await new Response(process.stdin).text());
const answers = [];
for (const { role, action, resource, leading_keys, attributes, enclosed_by } of calls) {
  const simulation = {
    request: {
      principal: `arn:aws:iam::${account}:role/simulated`,
      action,
      resource: { resource, accountId: account },
      contextVariables: {
        ...(leading_keys.length ? { "dynamodb:LeadingKeys": leading_keys } : {}),
        ...(attributes.length ? { "dynamodb:Attributes": attributes } : {}),
        ...(enclosed_by ? { "dynamodb:EnclosingOperation": enclosed_by } : {}),
      },
    },
    identityPolicies: [{ name: role, policy: { Version: "2012-10-17", Statement: statements[role] } }],
    serviceControlPolicies: [],
    resourceControlPolicies: [],
  };
  const outcome = await runSimulation(simulation, {});
  answers.push(outcome.resultType === "error" ? JSON.stringify(outcome.errors) : outcome.overallResult);
}
process.stdout.write(JSON.stringify(answers));
